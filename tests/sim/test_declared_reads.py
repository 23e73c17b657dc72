"""Every controller of production declares all that it reads; one that does not is found, although others declare it."""

from __future__ import annotations

from dataclasses import replace

from fairlead.control.roster import default_deciders
from fairlead.decision.decider import Decider
from fairlead.model.views import NODES, PODS
from fairlead.sim.backup import EMPTY
from fairlead.sim.chance import Chance
from fairlead.sim.declared_reads import NotedReads
from fairlead.sim.faults import CALM, Faults
from fairlead.sim.parts import Parts, default_parts
from fairlead.sim.run import stand_up
from fairlead.sim.world import World
from fairlead.sim.worlds.roster import WORLDS

# Together they have objects for every controller that a world can have objects for.
_WORLDS = (
    "std20",
    "rollouts",
    "nodes",
    "clocks",
    "custom-kubernetes",
    "recovery",
    "sched",
    "quota-repair",
    "refused",
    "autoscaling",
    "overrides",
)


def _note(seen: NotedReads, world: str, parts: Parts | None = None, faults: Faults | None = None) -> None:
    make, usual = WORLDS[world]
    scenario = make()
    parts = parts or default_parts(*scenario.controllers, deciders=scenario.deciders)
    backup = stand_up(scenario) if scenario.standing else EMPTY
    run = World(
        scenario, Chance(1), usual if faults is None else faults, seen.parts(parts), backup=backup
    ).run()
    assert run.violation is None


def test_what_is_read_is_declared() -> None:
    seen = NotedReads()
    for world in _WORLDS:
        _note(seen, world)
    assert seen.undeclared() == {}
    silent = {each.name for each in default_deciders()} - {
        name for name, asked in seen.asked.items() if asked
    }
    assert silent == {
        "role-aggregation",
        "rollout-outcome",
        "root-certificate",
        "service-account",
        "viewer-role",
    }


def _reading_more(inner: Decider) -> Decider:
    def decide(view, key, now):  # type: ignore[no-untyped-def]
        view.list(NODES)
        return inner.decide(view, key, now)

    return replace(inner, decide=decide)


def test_a_read_that_is_not_declared_is_found() -> None:
    parts = default_parts()
    usual = parts["deciders"]
    parts["deciders"] = lambda: tuple(_reading_more(each) if each.name == "job" else each for each in usual())
    seen = NotedReads()
    _note(seen, "rollouts", parts, CALM)
    assert seen.undeclared() == {"job": frozenset({NODES.name})}
    assert PODS.name in seen.asked["job"]

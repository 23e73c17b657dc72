"""A scenario from YAML: `parse_scenario(name, data) -> WrittenScenario`. Pure: whoever has the file reads it.

    about      a sentence for people
    seed       that is run if no other is asked for; seeds: how many from there on (1)
    planes     2
    nodes      how many that pretend to run pods, or their names
    machines   names of nodes with an agent and a machine of their own; zone-a for node-a1
    controllers, plant       by where they are imported from, PACKAGE.MODULE:NAME
    lease      how long a leader may be silent, 15s
    objects    manifests of what is there, and at rest, before anything happens; before: what was done to them
    steps      who does what, and when (`steps.py`)
    faults     from, until, rates, pinned (`faults.py`)
    run        at-least, at-most, quiet: how long it lasts, and how long nothing is written before it counts as at rest
    expect     breaks: the invariant that must break; or end: what is there at the end

Called by `fairlead sim run FILE` and tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fairlead.agent.contract import NodeSettings
from fairlead.control.leadership import LeadershipSettings
from fairlead.core.errors import UsageError
from fairlead.decision.decider import Decider
from fairlead.sim.documents import code_of
from fairlead.sim.faults import CALM, Faults
from fairlead.sim.scenario import Scenario, ScenarioStep, create
from fairlead.sim.scenarios.expect import expected_of
from fairlead.sim.scenarios.faults import FaultTargets, PinnedFaultsOf, pinned_of, rates_of
from fairlead.sim.scenarios.field import ScenarioField, read_document
from fairlead.sim.scenarios.steps import created, steps_of
from fairlead.sim.worlds import nodes as machines_world

_FIELDS = (
    "about",
    "seed",
    "seeds",
    "planes",
    "nodes",
    "machines",
    "controllers",
    "plant",
    "lease",
    "objects",
    "before",
    "steps",
    "faults",
    "run",
    "expect",
)
_PLANES_MAX = 9
_HOLLOW, _NO_HOLLOW = "node-", "hollow-"
_OF_FAULTS, _OF_RUN = ("from", "until", "rates", "pinned"), ("at-least", "at-most", "quiet")
_QUIET_SECONDS, _QUIET_WITH_MACHINES = 50.0, 125.0  # longer than any back-off and grace
_FIRST_SECONDS = 0.1
_AFTER_SECONDS, _LONGER_SECONDS = (
    60.0,
    900.0,
)  # that faults go on after the last step, and a run after them at most
_LEASE_SECONDS_MIN = 2.0


@dataclass(frozen=True, slots=True)
class WrittenScenario:
    scenario: Scenario
    faults: Faults
    about: str = ""
    seed: int | None = None
    seeds: int | None = None
    plant: str = ""
    breaks: str = ""  # the invariant that every run must break; "": none may


def parse_scenario(name: str, data: bytes) -> WrittenScenario:
    """A UsageError names line, field and fix."""
    root = read_document(data)
    given = root.mapping(_FIELDS)
    if "steps" not in given:
        raise root.refused('needs "steps": who does what, and when')
    expect = given["expect"].mapping(("breaks", "end")) if "expect" in given else {}
    made = _people_and_things(name, given)
    of_faults = given["faults"].mapping(_OF_FAULTS) if "faults" in given else {}
    own = tuple(each().name for each in made.controllers)
    machines = tuple(each.name for each in made.nodes)
    cast = FaultTargets(made.planes, machines, own)
    pinned = pinned_of(of_faults["pinned"], cast) if "pinned" in of_faults else PinnedFaultsOf()
    scenario = replace(
        _timed(made, given, of_faults, pinned),
        pinned=pinned.of_planes,
        mishaps=pinned.of_nodes,
        expected=expected_of(expect["end"]) if "end" in expect else (),
    )
    return WrittenScenario(
        scenario=scenario,
        faults=rates_of(of_faults["rates"], bool(machines)) if "rates" in of_faults else CALM,
        about=given["about"].text() if "about" in given else "",
        seed=given["seed"].whole() if "seed" in given else None,
        seeds=given["seeds"].whole(1) if "seeds" in given else None,
        plant=given["plant"].text() if "plant" in given else "",
        breaks=expect["breaks"].text() if "breaks" in expect else "",
    )


def _people_and_things(name: str, given: dict[str, ScenarioField]) -> Scenario:
    """Everything but how long it lasts, and its faults."""
    steps, before = steps_of(given["steps"]), _before(given)
    planes = given["planes"].whole(1) if "planes" in given else 2
    if planes > _PLANES_MAX:
        raise given["planes"].refused(f"at most {_PLANES_MAX} are possible")
    plain = Scenario(
        name=name,
        standing=before,
        steps=steps,
        hollow_prefix=_HOLLOW,
        planes=planes,
        faults_until_seconds=0.0,
        seconds_min=0.0,
        seconds_max=0.0,
        quiet_seconds=_QUIET_SECONDS,
        leadership=_leadership(given),
        controllers=_imported(given["controllers"]) if "controllers" in given else (),
    )
    if "machines" not in given:
        return plain
    if "nodes" in given:
        raise given["nodes"].refused("stands beside machines: a scenario has nodes of one sort")
    return replace(
        plain,
        standing=(),  # what a machine runs cannot be restored: everything is made in the run itself
        steps=(machines_world.policy(), *before, *steps),
        hollow_prefix=_NO_HOLLOW,
        quiet_seconds=_QUIET_WITH_MACHINES,
        controllers=(*machines_world.CONTROLLERS, *plain.controllers),
        nodes=tuple(_machine(each) for each in given["machines"].items()),
        pace=machines_world.PACE,
    )


def _before(given: dict[str, ScenarioField]) -> tuple[ScenarioStep, ...]:
    found: list[ScenarioStep] = []
    if "nodes" in given:
        for name in _hollow_names(given["nodes"]):
            body = {"kind": "Node", "metadata": {"name": name}}
            found.append(create(_FIRST_SECONDS, "v1", "nodes", body, ""))
    for each in given["objects"].items() if "objects" in given else ():
        found.append(created(each, _FIRST_SECONDS))
    if "before" in given:
        found += steps_of(given["before"])
    return tuple(sorted(found, key=lambda step: step.at_seconds))


def _hollow_names(field: ScenarioField) -> list[str]:
    if not field.is_list:
        return [f"{_HOLLOW}{number}" for number in range(field.whole(1))]
    for each in field.items():
        if not each.text().startswith(_HOLLOW):
            raise each.refused(f"names of nodes that pretend begin with {_HOLLOW}")
    return [each.text() for each in field.items()]


def _machine(field: ScenarioField) -> NodeSettings:
    name = field.text()
    if not name.startswith(_HOLLOW) or len(name) <= len(_HOLLOW):
        raise field.refused("is called node-a1 or so: the letter after the hyphen is its zone")
    return machines_world.settings(name)


def _imported(field: ScenarioField) -> tuple[Callable[[], Decider], ...]:
    found: list[Callable[[], Decider]] = []
    for each in field.items():
        try:
            found.append(code_of(each.text()))
        except UsageError as error:
            raise each.refused(f"{error}; name a function as PACKAGE.MODULE:NAME") from None
    return tuple(found)


def _leadership(given: dict[str, ScenarioField]) -> LeadershipSettings:
    if "lease" not in given:
        return LeadershipSettings()
    lasts = given["lease"].seconds()
    if lasts < _LEASE_SECONDS_MIN:
        raise given["lease"].refused(f"must be at least {_LEASE_SECONDS_MIN:g}s: planes renew it in time")
    return LeadershipSettings(lasts, lasts * 0.3, lasts * 0.2, lasts * 0.2)


def _timed(
    made: Scenario,
    given: dict[str, ScenarioField],
    of_faults: dict[str, ScenarioField],
    pinned: PinnedFaultsOf,
) -> Scenario:
    """Faults go on until people are done and what is pinned is over, if nothing else is said."""
    last = max([pinned.last_seconds, *(step.at_seconds for step in made.steps)])
    until = of_faults["until"].seconds() if "until" in of_faults else last + _AFTER_SECONDS
    if pinned.last_seconds > until:
        raise of_faults["until"].refused(
            f"is over before what is pinned is: put it at {pinned.last_seconds:g}s or later"
        )
    of_run = given["run"].mapping(_OF_RUN) if "run" in given else {}
    quiet = of_run["quiet"].seconds() if "quiet" in of_run else made.quiet_seconds
    return replace(
        made,
        faults_from_seconds=of_faults["from"].seconds() if "from" in of_faults else 0.0,
        faults_until_seconds=until,
        seconds_min=of_run["at-least"].seconds() if "at-least" in of_run else until,
        seconds_max=of_run["at-most"].seconds() if "at-most" in of_run else until + _LONGER_SECONDS,
        quiet_seconds=quiet,
    )

"""Changes of a run that must change nothing that matters: lists in another order, watch events told twice, restarts.

    differences(scenario) -> {"permuted lists": "", "double delivery": "", "restarts": ""}

For any Scenario: it is run without faults as it is, and once with each change; what it ends in, and how much was made
on the way, must be the same, but for what the scenario allows (`endstate.py`). A text says what differs, "" that
nothing does; a run that breaks an invariant says so.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from fairlead.sim.backup import EMPTY, Backup
from fairlead.sim.chance import Chance
from fairlead.sim.endstate import allowed_in, difference, end_state, made_too_much
from fairlead.sim.faults import CALM
from fairlead.sim.network import Clock, Link, Tell
from fairlead.sim.parts import Parts, default_parts
from fairlead.sim.processes.agents import AgentProcess
from fairlead.sim.processes.planes import PlaneProcess
from fairlead.sim.run import stand_up
from fairlead.sim.scenario import Scenario
from fairlead.sim.world import Run, World
from fairlead.store.contract import Entry

# Of every process, one after the other: often enough to fall into any phase of a small world.
_RESTART_EVERY_SECONDS = 17.0


class PermutedLists(Link):
    """Every list comes in an order of its own, the same in every run."""

    def _entries(self, resource: str, revision: int) -> tuple[Entry, ...]:
        entries = super()._entries(resource, revision)

        def place(entry: Entry) -> bytes:
            return blake2b(f"{revision} {entry.key}".encode(), digest_size=8).digest()

        return tuple(sorted(entries, key=place))


class DoubleDelivery(Link):
    """Whatever a watch brings, it brings twice: each frame at once, and all of them again."""

    def follow(self, resource: str, since: int, attempt: int, tell: Tell, clock: Clock) -> None:
        def twice(*events: object) -> None:
            doubled = [each for event in events for each in (event, event)]
            tell(*doubled, *events) if len(events) > 1 else tell(*doubled)

        super().follow(resource, since, attempt, twice, clock)


def _as_it_is(world: World) -> None:
    """Nothing is done to it."""


def _restarts(world: World) -> None:
    """Every process dies now and then until the last step was taken, and comes up again."""
    scenario = world.scenario
    processes: tuple[PlaneProcess | AgentProcess, ...] = (*world.planes, *world.agents)
    until = max(scenario.faults_until_seconds - _RESTART_EVERY_SECONDS, _RESTART_EVERY_SECONDS)
    at, turn = _RESTART_EVERY_SECONDS / 2, 0
    while at < until:
        world.timeline.at(int(at * 1000), processes[turn % len(processes)].crash)
        at, turn = at + _RESTART_EVERY_SECONDS, turn + 1


Change = tuple[type[Link], Callable[[World], None]]
CHANGES: dict[str, Change] = {
    "permuted lists": (PermutedLists, _as_it_is),
    "double delivery": (DoubleDelivery, _as_it_is),
    "restarts": (Link, _restarts),
}


def differences(scenario: Scenario, plant: Callable[[Parts], Parts] | None = None) -> dict[str, str]:
    """By change: what differs; "" if nothing does. `plant` spoils the changed runs only."""
    backup = stand_up(scenario) if scenario.standing else EMPTY
    plain = _run(scenario, backup, (Link, _as_it_is), None)
    if plain.violation is not None:
        raise plain.violation
    allowed = allowed_in(scenario)
    wanted = end_state(plain.objects, allowed)
    found: dict[str, str] = {}
    for name, change in CHANGES.items():
        run = _run(scenario, backup, change, plant)
        if run.violation is not None:
            found[name] = str(run.violation)
            continue
        told = difference(wanted, end_state(run.objects, allowed))
        found[name] = told or made_too_much(plain.counts, run.counts, allowed)
    return found


def _run(scenario: Scenario, backup: Backup, change: Change, plant: Callable[[Parts], Parts] | None) -> Run:
    link, disturb = change
    parts: Parts = {**default_parts(*scenario.controllers, deciders=scenario.deciders), "link": link}
    world = World(scenario, Chance(0), CALM, plant(parts) if plant else parts, backup=backup)
    disturb(world)
    return world.run()

"""`faults` of a scenario: how likely which is, and those that are pinned to an instant or to a write.

    rates: usual                                       or none, or {watch_lag: 0.1, incident: 0.2}
    pinned:
    - {at: 2s, delay: placementquotas, of: plane-0, for: 8s}      its watch and its lists bring nothing
    - {at: 8s, relist: reservations}                              it looks through all of them again
    - {at: 5s, restart: leader}                                   also: server
    - {at: 5s, pause: leader, for: 20s}                           also: cut, deafen, mute
    - {at: 5s, break watches: leader}                             also: expire watches
    - {at: 3s, write: create reservations, by: override-capacity, nth: 1, then: answer lost}
    - {at: 9s, node: node-a1, suffers: agent_cut, for: 30s}       a node with a machine of its own

`of` is plane-0, plane-1, ..., `leader` (if nothing is said), `standby` or `every plane`: who that is at this instant.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from fairlead.control.roster import default_deciders
from fairlead.sim.faults import CALM, DEFAULT, Faults, NodeFaults
from fairlead.sim.incidents.pinned import EVERY, LEADER, STANDBY
from fairlead.sim.scenario import Mishap, PinnedFault
from fairlead.sim.scenarios.field import ScenarioField
from fairlead.sim.scenarios.kinds import kind_named

_SERVER = "server"
_FATES = {
    "answer lost": "reply_lost",
    "request lost": "request_lost",
    "request late": "request_late",
    "crash before": "crash_before_write",
    "crash after": "crash_after_write",
}
_VERBS = ("create", "update", "patch", "delete")
_OF_PROCESS = {
    "restart": "plane_crash",
    "pause": "plane_pause",
    "cut": "partition",
    "deafen": "partition_of_replies",
    "mute": "partition_of_requests",
    "break watches": "watches_cut",
    "expire watches": "watches_expire",
}
_LASTING = ("pause", "cut", "deafen", "mute")
_OF_WATCH = {"delay": "watch_delay", "relist": "watch_relist"}
_OTHERS = ("write", "node")
_SUFFERINGS = (
    "agent_crash",
    "agent_pause",
    "agent_cut",
    "agent_deaf",
    "agent_mute",
    "zone_cut",
    "node_flaps",
    "power_loss",
    "process_crash",
)


@dataclass(frozen=True, slots=True)
class FaultTargets:
    """Who there is, as far as faults may name them."""

    planes: int
    machines: tuple[str, ...]
    controllers: tuple[str, ...]  # besides those of production

    @property
    def processes(self) -> tuple[str, ...]:
        return LEADER, STANDBY, EVERY, *(f"plane-{slot}" for slot in range(self.planes))

    @property
    def writers(self) -> tuple[str, ...]:
        usual = (each.name for each in default_deciders())
        return tuple(sorted({*usual, *self.controllers, "scheduler", "leadership"}))


@dataclass(frozen=True, slots=True)
class PinnedFaultsOf:
    of_planes: tuple[PinnedFault, ...] = ()
    of_nodes: tuple[Mishap, ...] = ()

    @property
    def last_seconds(self) -> float:
        of_planes = [each.at_seconds + each.seconds for each in self.of_planes]
        return max([*of_planes, *(each.at_seconds + each.seconds for each in self.of_nodes)], default=0.0)


def rates_of(field: ScenarioField, machines: bool) -> Faults:
    kinds: type[Faults] = NodeFaults if machines else Faults
    known = [each.name for each in fields(kinds)]
    if isinstance(field.value, str):
        chosen = DEFAULT if field.choice(("usual", "none")) == "usual" else CALM
        return kinds(**{each.name: getattr(chosen, each.name) for each in fields(chosen)})
    rates: dict[str, Any] = {}
    for name, each in field.mapping(known).items():
        if name == "incidents":
            rates[name] = tuple((what, weight.whole()) for what, weight in each.mapping().items())
        else:
            rates[name] = each.share()
    return kinds(**rates)


def pinned_of(field: ScenarioField, cast: FaultTargets) -> PinnedFaultsOf:
    planes: list[PinnedFault] = []
    nodes: list[Mishap] = []
    for entry in field.items():
        found = _pinned(entry, cast)
        if isinstance(found, Mishap):
            nodes.append(found)
        else:
            planes.append(found)
    return PinnedFaultsOf(tuple(planes), tuple(nodes))


def _pinned(entry: ScenarioField, cast: FaultTargets) -> PinnedFault | Mishap:
    given = entry.mapping()
    every = (*_OF_PROCESS, *_OF_WATCH, *_OTHERS)
    does = [name for name in given if name in every]
    if len(does) != 1:
        raise entry.refused(f"is one fault: give it one of {', '.join(every)}")
    [name] = does
    at = given["at"].seconds() if "at" in given else 0.0
    if name in _OF_PROCESS:
        return _of_process(entry, name, at, cast)
    if name in _OF_WATCH:
        return _of_watch(entry, name, at, cast)
    return _of_write(entry, at, cast) if name == "write" else _of_node(entry, at, cast)


def _of_process(entry: ScenarioField, name: str, at: float, cast: FaultTargets) -> PinnedFault:
    given = entry.mapping(("at", name, *(("for",) if name in _LASTING else ())))
    who = given[name].choice((*cast.processes, _SERVER) if name == "restart" else cast.processes)
    seconds = _lasts(entry, given) if name in _LASTING else 0.0
    what = "server_crash" if who == _SERVER else _OF_PROCESS[name]
    return PinnedFault(at, what, _at_instant(entry, who, at), seconds)


def _of_watch(entry: ScenarioField, name: str, at: float, cast: FaultTargets) -> PinnedFault:
    given = entry.mapping(("at", name, "of", *(("for",) if name == "delay" else ())))
    kind = kind_named(given[name], given[name].text())
    seconds = _lasts(entry, given) if name == "delay" else 0.0
    return PinnedFault(at, _OF_WATCH[name], _process(entry, given, at, cast), seconds, kind.resource)


def _of_write(entry: ScenarioField, at: float, cast: FaultTargets) -> PinnedFault:
    given = entry.mapping(("at", "write", "of", "by", "nth", "then"))
    for needed, such in (("by", "the controller, such as replicaset"), ("then", " or ".join(_FATES))):
        if needed not in given:
            raise entry.refused(f'needs "{needed}": {such}')
    verb, _, what = given["write"].text().partition(" ")
    plural, slash, below = what.partition("/")
    if verb not in _VERBS or not plural:
        raise given["write"].refused("is a verb and a kind, such as create pods or patch pods/status")
    kind = kind_named(given["write"], plural)
    by = given["by"].choice(cast.writers)
    nth = given["nth"].whole(1) - 1 if "nth" in given else 0
    return PinnedFault(
        at_seconds=at,
        name=_FATES[given["then"].choice(tuple(_FATES))],
        process=_process(entry, given, at, cast),
        call=f"{by} {verb} {kind.plural}{slash}{below}",
        nth=nth,
    )


def _of_node(entry: ScenarioField, at: float, cast: FaultTargets) -> Mishap:
    given = entry.mapping(("at", "node", "suffers", "for"))
    if not cast.machines:
        raise entry.refused("only nodes under machines have faults of their own; those under nodes pretend")
    node = given["node"].choice(cast.machines)
    if "suffers" not in given:
        raise entry.refused(f'needs "suffers": one of {", ".join(_SUFFERINGS)}')
    return Mishap(
        at, given["suffers"].choice(_SUFFERINGS), node, given["for"].seconds() if "for" in given else 0.0
    )


def _lasts(entry: ScenarioField, given: dict[str, ScenarioField]) -> float:
    if "for" not in given:
        raise entry.refused('needs "for": how long it lasts, such as 8s')
    return given["for"].seconds()


def _process(entry: ScenarioField, given: dict[str, ScenarioField], at: float, cast: FaultTargets) -> str:
    return _at_instant(entry, given["of"].choice(cast.processes) if "of" in given else LEADER, at)


def _at_instant(entry: ScenarioField, who: str, at: float) -> str:
    if who in (LEADER, STANDBY) and not at:
        raise entry.refused(
            'nobody leads at the beginning: say from which instant ("at: 2s"), or name a plane'
        )
    return who

"""Where faults can be put in a run without faults, and which: what planned, lineage-driven and exhaustive search share.

A run that notes them (`Chance.places`) lists every place at which a fault could have been drawn, in the order of time.
`single_faults` makes of such a place what can go wrong there, as choices to force: the fault, and how it goes, which
has the number of the fault.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairlead.port.request import READ_VERBS
from fairlead.sim.calls import FATES
from fairlead.sim.chance import Chance, ChoiceName, FaultPlace
from fairlead.sim.search.contract import Plays, unlikely
from fairlead.sim.world import Run

Forced = tuple[tuple[ChoiceName, int], ...]
_TELLING, _RENEWING = (
    ("events", "leases", "leadership "),
    ("update leases", "patch leases", " events"),
)
_PLANE = "plane-"
_OF_WRITES = ("call", "crash_at_write", "crash_after_write")
_LAG_MAX, _LATE_MAX = 11_999, 4_999  # milliseconds: as late as `network.py` lets them be
# What can become of a write, the worst first.
_WORST_FIRST = (
    "reply_lost",
    "request_late",
    "request_lost",
    "racing_write",
    "request_twice",
    "request_slow",
    "throttled",
)


@dataclass(frozen=True, slots=True)
class FaultPoint:
    """One place, and its position among all of them."""

    position: int
    label: str
    actor: str
    nth: int
    values: tuple[int, ...] = (1,)

    @property
    def name(self) -> ChoiceName:
        return self.label, self.actor, self.nth

    @property
    def process(self) -> str:
        return self.actor.partition(" ")[0]

    @property
    def of_plane(self) -> bool:
        return self.actor.startswith(_PLANE)

    @property
    def what(self) -> str:
        """The kind of place: the actor without its process."""
        return self.actor.partition(" ")[2]

    @property
    def tells(self) -> bool:
        """About what only tells, or what never rests: tried last. Of who is to lead as well: until somebody does,
        nothing is done that a fault could break."""
        return self.what.startswith(_TELLING) or self.what.endswith(_RENEWING)

    @property
    def reports(self) -> bool:
        """A write that says how things are, where others change them: tried after those."""
        return self.what.endswith("/status")

    @property
    def writes(self) -> bool:
        words = self.actor.split(" ")
        return self.label in _OF_WRITES and len(words) > 2 and words[2] not in READ_VERBS


def clean_run(runner: Plays, seed: int) -> tuple[Run, tuple[FaultPoint, ...]]:
    """A run without faults of the code under test, and every place at which it could have met one."""
    chance = Chance(seed, notes_places=True)
    world = runner.at(seed)
    run = world.play(chance, trail=True, faults=unlikely(world.faults))
    return run, tuple(point_at(place, at) for at, place in enumerate(chance.places or ()))


def point_at(place: FaultPlace, position: int = 0) -> FaultPoint:
    return FaultPoint(position, place.label, place.actor, place.nth, place.values)


def single_faults(point: FaultPoint) -> tuple[tuple[str, Forced], ...]:
    """What can go wrong here: in words, and as choices."""
    name, fires = point.name, (point.name, 1)
    if point.label in ("crash_at_write", "agent_crash_at_write"):
        after, before = (fires, _how(point, "crash.sent", 1)), (fires, _how(point, "crash.sent", 0))
        return ("crash after the write", after), ("crash before the write", before)
    if point.label == "call":
        return tuple((fate.replace("_", " "), _fated(point, fate)) for fate in _fates(point))
    if point.label == "watch_lag":
        return (("view frozen", (fires, _how(point, "watch.lag", _LAG_MAX))),)
    if point.label == "list_reordered":
        return (("list reordered", (fires, _how(point, "list.order", 1))),)
    if point.label == "incident":
        return tuple((f"incident {value}", ((name, value),)) for value in point.values)
    return ((point.label.replace("_", " "), (fires,)),)


def of_every_plane(forced: Iterable[tuple[ChoiceName, int]], points: Iterable[FaultPoint]) -> Forced:
    """What is forced on a plane is forced on each, at the same numbers: which of them leads is settled anew in every
    run."""
    planes = sorted({each.process for each in points if each.of_plane})
    meant: dict[ChoiceName, int] = {}
    for (label, actor, nth), value in forced:
        process, space, rest = actor.partition(" ")
        for each in planes if process in planes else (process,):
            meant[label, f"{each}{space}{rest}", nth] = value
    return tuple(sorted(meant.items()))


def _fates(point: FaultPoint) -> tuple[str, ...]:
    """Of what the world has; of a read it is all the same why it brought nothing."""
    known = _WORST_FIRST if point.writes else ("request_lost",)
    return tuple(each for each in known if 1 + FATES.index(each) in point.values)


def _fated(point: FaultPoint, fate: str) -> Forced:
    fires = (point.name, 1 + FATES.index(fate))
    return (fires, _how(point, "call.late", _LATE_MAX)) if fate == "request_late" else (fires,)


def _how(point: FaultPoint, label: str, value: int) -> tuple[ChoiceName, int]:
    """A detail of this fault."""
    return (label, point.actor, point.nth), value

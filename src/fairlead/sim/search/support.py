"""What the outcomes of a run rest on: the messages behind what objects came to. `lineage.py` takes them away.

    Lineage(run).supports()                  the messages, nearest to an outcome first
    Lineage(run).other_ways(message, own)    by what else it would become known that a write was made

An object is what came of all its changes: the last one rests on the one before. Read from the trail, in which every
step knows what led to it, and from the places at which faults could have been.
Only what can keep a message from coming in time is a support's end: that something comes twice, or in another order,
prevents nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from fairlead.model.views import LEASES
from fairlead.sim.chance import FaultPlace
from fairlead.sim.search.points import FaultPoint, point_at
from fairlead.sim.trail import NO_CAUSE, Trail, TrailStep
from fairlead.sim.world import Run

_NO_OUTCOMES = (LEASES.name, "events", "events.events.k8s.io")
_LAG = "watch_lag"
_DELIVERIES = (_LAG, "watch_broken")
_PREVENT_NOTHING = frozenset(
    {
        "watch_repeated",
        "queue_reordered",
        "list_reordered",
        "status_again",
        "clock_skew",
        "clock_drift",
        "server_clock_skew",
    }
)
_OF_AGENTS = "is told "  # as the steps of agents say it
_FOR_A_WHILE = 3  # deliveries: a write that is under way for long is brought by a later one


class Lineage:
    """By step, where a fault could have stopped it. A place is noted with the step before it, which is the call that is
    about to leave; of a delivery that is what there is to deliver, so that it is found with who is told."""

    def __init__(self, run: Run) -> None:
        self._trail = Trail() if run.trail is None else run.trail
        self._at: dict[int, list[FaultPoint]] = {}
        self._delivering: dict[tuple[int, str], list[FaultPoint]] = {}
        self._read_places(run.chance.places or ())
        self._made: dict[int, list[tuple[str, str]]] = {}  # by call: revision and resource of what it changed
        self._brought: dict[
            tuple[str, str], int
        ] = {}  # by who is told and revision: what led to its delivery
        self._read_trail()

    def _read_places(self, places: Sequence[FaultPlace]) -> None:
        for place in places:
            point = point_at(place, place.step)
            if place.label in _DELIVERIES:
                self._delivering.setdefault((place.step, place.actor), []).append(point)
            elif place.label not in _PREVENT_NOTHING:
                self._at.setdefault(place.step, []).append(point)

    def _read_trail(self) -> None:
        for step in self._trail:
            if step.kind == "committed":
                revision, _, rest = step.text.partition(" ")
                self._made.setdefault(step.cause, []).append((revision, rest.partition("/")[0]))
            else:
                for revision in _told(step)[1]:
                    self._brought.setdefault((step.actor, revision), step.cause)

    def supports(self) -> Iterator[FaultPoint]:
        seen: set[int] = {NO_CAUSE}
        front = _changes(self._trail)
        while front:
            steps = [self._trail[number] for number in dict.fromkeys(front) if number not in seen]
            seen.update(front)
            for step in steps:
                yield from self._stopping(step)
            front = [step.cause for step in steps]

    def other_ways(self, message: FaultPoint, own: bool) -> tuple[FaultPoint, ...]:
        """The deliveries by which who made this write learns of it without an answer, or, if not `own`, by which other
        processes do."""
        found: list[FaultPoint] = []
        for revision, resource in self._made.get(message.position, ()):
            for (process, brought), cause in self._brought.items():
                if brought == revision and (process == message.process) is own:
                    found += self._delivering.get((cause, f"{process} {resource}"), ())
        lags = [each for each in found if each.label == _LAG]
        return tuple(replace(each, nth=each.nth + more) for each in lags for more in range(_FOR_A_WHILE))

    def _stopping(self, step: TrailStep) -> Iterator[FaultPoint]:
        yield from self._at.get(step.number, ())
        resource, revisions = _told(step)
        if revisions:
            yield from self._delivering.get((step.cause, f"{step.actor} {resource}"), ())


def _told(step: TrailStep) -> tuple[str, list[str]]:
    """Of which resource, and which revisions a watch brought."""
    resource, _, rest = step.text.removeprefix(_OF_AGENTS).partition(" ")
    what, _, revisions = rest.partition(" ")
    if what != "Framed" or not (step.kind == "told" or step.text.startswith(_OF_AGENTS)):
        return "", []
    return resource, revisions.strip("[]").split(", ")


def _changes(trail: Trail) -> list[int]:
    """The steps of the last change of each object, then of those before, but for leases, which never rest, and Events,
    which only tell."""
    changes: dict[str, list[int]] = {}
    for step in trail:
        if step.kind == "calm":
            break
        if step.kind == "committed":
            key = step.text.partition(" ")[2].rpartition(" by ")[0]
            if key.partition("/")[0] not in _NO_OUTCOMES:
                changes.setdefault(key, []).append(step.number)
    latest = [sorted(numbers, reverse=True) for numbers in changes.values()]
    rounds = zip_longest(*sorted(latest, reverse=True), fillvalue=NO_CAUSE)
    return [number for each in rounds for number in each if number != NO_CAUSE]

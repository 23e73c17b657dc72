"""Planned search: three patterns that have broken many controllers, put at every place of one run without faults.

crash after each write        the plane dies as a write leaves; who comes next sees half of what was intended
freeze a view, and use it     a watch of a plane shows nothing new for a while, and in the meantime that plane has to
                              act, because the one that led has died
hide a transition             a watch shows nothing until a thing has come and gone, or has changed twice

Places that differ in controller, verb or kind come first, then those that differ in number only. One round over the
first of each kind is followed by a round on the run of another seed, so that timing varies as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from fairlead.sim.search.contract import Attempt, Plays, unlikely
from fairlead.sim.search.points import FaultPoint, Forced, clean_run, single_faults
from fairlead.sim.world import Run

_RUNS = 64  # clean runs to plan on, one after the other
_OF_A_KIND = 6  # places of one kind that are tried in one round
_LATER = 3  # deliveries after a crash that may be the frozen one

Plan = tuple[str, Forced]


class PlannedSearch:
    name = "planned"

    def __init__(self, runner: Plays, seed: int) -> None:
        self._runner, self._seed = runner, seed
        self._plans = self._all()

    def propose(self) -> Attempt | None:
        return next(self._plans, None)

    def learn(self, attempt: Attempt, run: Run) -> None:
        """Nothing: what it tries follows from the run without faults."""

    def _all(self) -> Iterator[Attempt]:
        for seed in range(self._seed, self._seed + _RUNS):
            _, points = clean_run(self._runner, seed)
            faults = unlikely(self._runner.at(seed).faults)
            yield Attempt(seed, faults=faults, told="no fault")
            patterns = (
                _crashes(points),
                _unknown(points),
                _frozen(points),
                _hidden(points),
                _incidents(points),
            )
            for together in zip_longest(*patterns):
                for plan in filter(None, together):
                    yield Attempt(seed, plan[1], faults=faults, told=plan[0])


def by_turns(points: list[FaultPoint]) -> Iterator[FaultPoint]:
    """The first of each kind, then the last of each, and so on from both ends."""
    kinds: dict[str, list[FaultPoint]] = {}
    for point in points:
        kinds.setdefault(f"{point.label} {point.what}", []).append(point)
    for number in range(_OF_A_KIND):
        for each in kinds.values():
            place = number // 2 if number % 2 == 0 else len(each) - 1 - number // 2
            if 0 <= place < len(each) and (number % 2 == 0 or place > number // 2):
                yield each[place]


def _crashes(points: tuple[FaultPoint, ...]) -> Iterator[Plan]:
    for point in by_turns([each for each in points if each.label == "crash_at_write"]):
        for told, forced in single_faults(point):
            yield f"{told}: {point.actor} {point.nth}", forced


def _unknown(points: tuple[FaultPoint, ...]) -> Iterator[Plan]:
    for point in by_turns([each for each in points if each.label == "call" and each.writes]):
        for told, forced in single_faults(point):
            yield f"{told}: {point.actor} {point.nth}", forced


def _frozen(points: tuple[FaultPoint, ...]) -> Iterator[Plan]:
    """One plane dies after a write, or is not answered, while a view of it or of another plane is frozen."""
    writes = [each for each in points if each.label == "crash_at_write"]
    answers = {(each.actor, each.nth): each for each in points if each.label == "call"}
    for write in by_turns(writes):
        after = _lags_after(points, write.position)
        crash = single_faults(write)[0][1]
        unanswered = answers.get((write.actor, write.nth))
        for lag in after:
            frozen = single_faults(lag)[0][1]
            told = f"view frozen: {lag.actor} {lag.nth}"
            yield f"crash after the write: {write.actor} {write.nth}; {told}", crash + frozen
            if unanswered is not None:
                lost = single_faults(unanswered)[0][1]
                yield f"reply lost: {write.actor} {write.nth}; {told}", lost + frozen


def _lags_after(points: tuple[FaultPoint, ...], position: int) -> list[FaultPoint]:
    """The next deliveries of each watch of each process."""
    seen: dict[str, int] = {}
    found: list[FaultPoint] = []
    for point in points[position:]:
        if point.label == "watch_lag":
            count = seen[point.actor] = seen.get(point.actor, 0) + 1
            if count <= _LATER:
                found.append(point)
    return found


def _hidden(points: tuple[FaultPoint, ...]) -> Iterator[Plan]:
    for point in by_turns(
        [each for each in points if each.label in ("watch_lag", "watch_broken", "list_lost")]
    ):
        for told, forced in single_faults(point):
            yield f"{told}: {point.actor} {point.nth}", forced


def _incidents(points: tuple[FaultPoint, ...]) -> Iterator[Plan]:
    for point in points:
        if point.label == "incident":
            for told, forced in single_faults(point):
                yield f"{told} at {point.nth}", forced

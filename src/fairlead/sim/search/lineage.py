"""Lineage-driven search: from what made a good outcome happen to the smallest sets of faults that would prevent it.

A run without faults is asked backwards: for each object, which calls and deliveries led to its last change? Each of
them is something whose loss might prevent that change, and is taken away: one in each stretch of the run at a time. If
the plane found another way, the new run is asked in the same manner, and what that way rests on is taken away as well,
up to `rounds_max` times; every third attempt goes on from a run that did. Messages near the outcome are tried first,
outcomes by turns, and the worst that can happen to a message before the rest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import count, zip_longest

from fairlead.model.views import LEASES
from fairlead.sim.chance import ChoiceName, FaultPlace
from fairlead.sim.search.contract import Plays, SearchAttempt, unlikely
from fairlead.sim.search.points import FaultPoint, Forced, clean_run, point_at, single_faults
from fairlead.sim.trail import Trail, TrailStep
from fairlead.sim.world import Run

_WAITING_MAX = 4_000
_RUNS = 64
_STRETCHES = 4
_FURTHER = 2  # attempts that go on from one that passed
_FURTHER_EVERY = 3
_NO_OUTCOMES = (LEASES.name, "events", "events.events.k8s.io")
_DELIVERIES = ("watch_lag", "watch_broken")

Cut = tuple[str, Forced]


class LineageSearch:
    name = "lineage"

    def __init__(self, runner: Plays, seed: int, rounds_max: int = 3) -> None:
        self._runner, self._seed, self._rounds_max = runner, seed, rounds_max
        self._ends_at = seed + _RUNS
        self._first: deque[SearchAttempt] = deque()
        self._further: deque[SearchAttempt] = deque()
        self._rounds: dict[Forced, int] = {}
        self._proposed = 0

    def propose(self) -> SearchAttempt | None:
        self._proposed += 1
        if self._further and (not self._first or self._proposed % _FURTHER_EVERY == 0):
            return self._further.popleft()
        if not self._first:
            if self._seed >= self._ends_at:
                return None
            run, _ = clean_run(self._runner, self._seed)
            self._rounds.clear()
            self._first.append(self._attempt(self._seed, (), "no fault"))
            self._first.extend(self._cutting(self._seed, (), "", run))
            self._seed += 1
        return self._first.popleft()

    def learn(self, attempt: SearchAttempt, run: Run) -> None:
        if run.violation is None and 0 < self._rounds.get(attempt.forced, 0) < self._rounds_max:
            further = self._cutting(attempt.seed, attempt.forced, attempt.told, run)
            self._further.extend(further[:_FURTHER])

    def _attempt(self, seed: int, forced: Forced, told: str) -> SearchAttempt:
        return SearchAttempt(
            seed, forced, faults=unlikely(self._runner.at(seed).faults), told=told, watched=True
        )

    def _cutting(self, seed: int, forced: Forced, told: str, run: Run) -> list[SearchAttempt]:
        """What takes away more of what this run rests on."""
        if len(self._further) > _WAITING_MAX:
            return []
        taken, rounds = {name for name, _ in forced}, self._rounds.get(forced, 0) + 1
        made: list[SearchAttempt] = []
        for cuts in zip_longest(*_stretches(run, taken)):
            chosen = [cut for cut in cuts if cut is not None]
            wanted = tuple(sorted({*forced, *(choice for _, choices in chosen for choice in choices)}))
            if wanted not in self._rounds:
                self._rounds[wanted] = rounds
                said = "; ".join(filter(None, (told, *(word for word, _ in chosen))))
                made.append(self._attempt(seed, wanted, said))
        return made


def _stretches(run: Run, taken: set[ChoiceName]) -> list[list[Cut]]:
    points = [each for each in supports(run) if each.name not in taken]
    end = 1 + max((each.position for each in points), default=0)
    found: list[list[Cut]] = [[] for _ in range(_STRETCHES)]
    for worst in count():
        left = [each for each in points if worst < len(single_faults(each))]
        if not left:
            return found
        for point in left:
            word, choices = single_faults(point)[worst]
            stretch = found[point.position * _STRETCHES // end]
            stretch.append((f"{word}: {point.actor} {point.nth}", choices))
    return found


def supports(run: Run) -> Iterator[FaultPoint]:
    """The messages that last changes rest on: nearest first, outcomes by turns, each once."""
    if run.trail is None:
        return
    messages = _Messages(run.trail, run.chance.places or ())
    chains = [list(messages.behind(number)) for number in _outcomes(run.trail)]
    seen: set[ChoiceName] = set()
    for depth in range(max(map(len, chains), default=0)):
        for chain in chains:
            if depth < len(chain) and chain[depth].name not in seen:
                seen.add(chain[depth].name)
                yield chain[depth]


def _outcomes(trail: Trail) -> list[int]:
    """The steps of the last change of each object, but for leases, which never rest, and Events, which only tell."""
    last: dict[str, int] = {}
    for step in trail:
        if step.kind == "calm":
            break
        if step.kind == "committed":
            key = step.text.partition(" ")[2].rpartition(" by ")[0]
            if key.partition("/")[0] not in _NO_OUTCOMES:
                last[key] = step.number
    return sorted(last.values(), reverse=True)


class _Messages:
    """By step, where a fault could have stopped it. A place is noted with the step before it, which is the call that is
    about to leave; of a delivery that is what there is to deliver, so that it is found with who is told."""

    def __init__(self, trail: Trail, places: Sequence[FaultPlace]) -> None:
        self._trail = trail
        self._at: dict[int, list[FaultPoint]] = {}
        self._delivering: dict[tuple[int, str], list[FaultPoint]] = {}
        for place in places:
            if place.label in _DELIVERIES:
                self._delivering.setdefault((place.step, place.actor), []).append(point_at(place, place.step))
            else:
                self._at.setdefault(place.step, []).append(point_at(place, place.step))

    def behind(self, number: int) -> Iterator[FaultPoint]:
        """The nearest first."""
        for step in reversed(self._trail.chain(number)):
            yield from self._at.get(step.number, ())
            yield from self._of_delivery(step)

    def _of_delivery(self, step: TrailStep) -> Iterator[FaultPoint]:
        resource, _, rest = step.text.removeprefix("is told ").partition(" ")
        if rest.startswith("Framed"):
            yield from self._delivering.get((step.cause, f"{step.actor} {resource}"), ())

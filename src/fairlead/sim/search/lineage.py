"""Lineage-driven search: from what made a good outcome happen to the smallest sets of faults that would prevent it.

A run without faults is asked backwards: for each object, which calls and deliveries led to its last change? Each of
them is something whose loss might prevent that change: one is taken away. If the plane found another way, the new run
is asked in the same manner, and what that way rests on is taken away as well, up to `faults_max` faults. Messages near
the outcome are tried first, and outcomes by turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from fairlead.model.views import LEASES
from fairlead.sim.chance import ChoiceName, FaultPlace
from fairlead.sim.faults import Faults
from fairlead.sim.search.contract import Attempt, Plays, unlikely
from fairlead.sim.search.points import FaultPoint, Forced, clean_run, point_at, single_faults
from fairlead.sim.trail import Trail, TrailStep
from fairlead.sim.world import Run

_WAITING_MAX = 4_000
_RUNS = 64
_NO_OUTCOMES = (LEASES.name, "events", "events.events.k8s.io")
_DELIVERIES = ("watch_lag", "watch_broken")


class LineageSearch:
    name = "lineage"

    def __init__(self, runner: Plays, seed: int, faults_max: int = 3) -> None:
        self._runner, self._seed, self._faults_max = runner, seed, faults_max
        self._waiting: deque[Attempt] = deque()
        self._tried: dict[Forced, int] = {}  # with how many faults
        self._ends_at = seed + _RUNS

    def propose(self) -> Attempt | None:
        if not self._waiting:
            if self._seed >= self._ends_at:
                return None
            run, _ = clean_run(self._runner, self._seed)
            self._waiting.append(
                Attempt(
                    self._seed,
                    faults=unlikely(self._runner.at(self._seed).faults),
                    told="no fault",
                    watched=True,
                )
            )
            self._tried.clear()
            self._extend(self._seed, (), "", run)
            self._seed += 1
        return self._waiting.popleft()

    def _quiet(self, seed: int) -> Faults:
        return unlikely(self._runner.at(seed).faults)

    def learn(self, attempt: Attempt, run: Run) -> None:
        faults = self._tried.get(attempt.forced, 0)
        if run.violation is None and 0 < faults < self._faults_max:
            self._extend(attempt.seed, attempt.forced, attempt.told, run)

    def _extend(self, seed: int, forced: Forced, told: str, run: Run) -> None:
        if len(self._waiting) > _WAITING_MAX:
            return
        taken, faults = {name for name, _ in forced}, self._tried.get(forced, 0) + 1
        for point in supports(run):
            for word, choices in single_faults(point):
                wanted = tuple(sorted({*forced, *choices}))
                if wanted in self._tried or point.name in taken:
                    continue
                self._tried[wanted] = faults
                said = "; ".join(filter(None, (told, f"{word}: {point.actor} {point.nth}")))
                self._waiting.append(
                    Attempt(
                        seed, wanted, faults=unlikely(self._runner.at(seed).faults), told=said, watched=True
                    )
                )


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
                self._delivering.setdefault((place.step, place.actor), []).append(point_at(place))
            else:
                self._at.setdefault(place.step, []).append(point_at(place))

    def behind(self, number: int) -> Iterator[FaultPoint]:
        """The nearest first."""
        for step in reversed(self._trail.chain(number)):
            yield from self._at.get(step.number, ())
            yield from self._of_delivery(step)

    def _of_delivery(self, step: TrailStep) -> Iterator[FaultPoint]:
        resource, _, rest = step.text.removeprefix("is told ").partition(" ")
        if rest.startswith("Framed"):
            yield from self._delivering.get((step.cause, f"{step.actor} {resource}"), ())

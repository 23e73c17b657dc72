"""Exhaustive search within a bound: every single fault at every place of one run without faults, then every pair.

For small worlds: it ends, and then it is known that no fault, or no two faults, of the kinds that the world has lead to
harm from that run. Places of a pair are those of the run without faults: what only the first fault makes possible is
lineage-driven search's to try. Details of a fault that matter are tried at their worst, others are as the seed draws
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from fairlead.sim.search.contract import Plays, SearchAttempt, unlikely
from fairlead.sim.search.points import Forced, clean_run, single_faults
from fairlead.sim.world import Run


class ExhaustiveSearch:
    name = "exhaustive"

    def __init__(self, runner: Plays, seed: int, faults_max: int = 2) -> None:
        self._runner, self._seed, self._faults_max = runner, seed, faults_max
        self._faults = unlikely(runner.at(seed).faults)
        self._attempts = self._all()

    def propose(self) -> SearchAttempt | None:
        return next(self._attempts, None)

    def learn(self, attempt: SearchAttempt, run: Run) -> None:
        """Nothing: all of them are tried."""

    def _all(self) -> Iterator[SearchAttempt]:
        yield SearchAttempt(self._seed, faults=self._faults, told="no fault")
        _, points = clean_run(self._runner, self._seed)
        singles: list[tuple[str, Forced]] = [
            (f"{told}: {point.actor} {point.nth}", forced)
            for point in points
            for told, forced in single_faults(point)
        ]
        for number in range(1, self._faults_max + 1):
            for chosen in combinations(singles, number):
                if len({choices[0][0] for _, choices in chosen}) < number:
                    continue  # two things that cannot both go wrong at one place
                told = "; ".join(each for each, _ in chosen)
                forced = tuple(choice for _, choices in chosen for choice in choices)
                yield SearchAttempt(self._seed, forced, faults=self._faults, told=told)

"""Every search by its name. `fairlead sim run --search` takes a name from here; the zoo is hunted with `mixed`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from fairlead.sim.search.bends import delay_search, pct_search, swarm_search, uniform_search
from fairlead.sim.search.contract import Plays, Search, SearchAttempt
from fairlead.sim.search.coverage import CoverageSearch
from fairlead.sim.search.exhaustive import ExhaustiveSearch
from fairlead.sim.search.lineage import LineageSearch
from fairlead.sim.search.planned import PlannedSearch
from fairlead.sim.world import Run

UNIFORM, MIXED = "uniform", "mixed"
_IN_MIXED = ("planned", UNIFORM, "lineage", "swarm")


class MixedSearch:
    """Several searches by turns: none is best for everything."""

    name = MIXED

    def __init__(self, runner: Plays, seed: int) -> None:
        self._searches = {name: SEARCHES[name](runner, seed) for name in _IN_MIXED}
        self._turns = list(self._searches.values())

    def propose(self) -> SearchAttempt | None:
        while self._turns:
            search = self._turns.pop(0)
            attempt = search.propose()
            if attempt is not None:
                self._turns.append(search)
                return replace(attempt, search=search.name)
        return None

    def learn(self, attempt: SearchAttempt, run: Run) -> None:
        self._searches[attempt.search].learn(attempt, run)


SEARCHES: dict[str, Callable[[Plays, int], Search]] = {
    UNIFORM: uniform_search,
    "swarm": swarm_search,
    "pct": pct_search,
    "delay": delay_search,
    "planned": PlannedSearch,
    "lineage": LineageSearch,
    "coverage": lambda runner, seed: CoverageSearch(seed),
    "exhaustive": ExhaustiveSearch,
    MIXED: MixedSearch,
}

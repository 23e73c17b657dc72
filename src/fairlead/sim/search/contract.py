"""What a search is: it proposes attempts, hears what came of each, and stops when it has nothing more to propose.

    search.propose() -> Attempt | None       the next run to try
    search.learn(attempt, run)               what came of it; with its trail, if the attempt is `watched`

An attempt is data that travels between processes: the seed that its choices are drawn from, the choices that are
forced, how delays and orders are bent, and the faults it runs with if not the world's. `Runner.attempt` runs it.
Searches decide nothing but that; they know neither processes nor clocks. Called by `fairlead sim run --search`,
`fairlead sim zoo`, tests.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from fairlead.sim.chance import Bend, Chance, ChoiceName
from fairlead.sim.faults import Faults
from fairlead.sim.world import Run

# A fault so unlikely that it is never drawn: where it could be is noted all the same, and it can be forced.
_UNLIKELY = 1e-12


@dataclass(frozen=True, slots=True)
class SearchAttempt:
    seed: int
    forced: tuple[tuple[ChoiceName, int], ...] = ()
    bend: Bend | None = None
    faults: Faults | None = None  # None: the world's
    told: str = ""  # what it tries, in words
    watched: bool = False  # its search wants to see the trail, and where faults could be
    search: str = ""  # whose it is, where several take turns

    def chance(self) -> Chance:
        return Chance(self.seed, dict(self.forced), self.bend, notes_places=self.watched)


class Search(Protocol):
    @property
    def name(self) -> str: ...

    def propose(self) -> SearchAttempt | None: ...

    def learn(self, attempt: SearchAttempt, run: Run) -> None: ...


class Plays(Protocol):
    """What a search needs of a Runner: the code under test, in the world that is searched."""

    faults: Faults

    def at(self, seed: int) -> Plays:
        """The one of this seed, where each seed has a world of its own."""

    def play(self, chance: Chance, trail: bool = False, faults: Faults | None = None) -> Run: ...


def unlikely(faults: Faults) -> Faults:
    """The same kinds of faults, none of which is drawn: only what is forced happens."""
    rates: dict[str, Any] = {
        each.name: _UNLIKELY
        for each in fields(faults)
        if isinstance(rate := getattr(faults, each.name), float) and rate
    }
    return replace(faults, **rates)

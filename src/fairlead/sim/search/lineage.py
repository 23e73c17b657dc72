"""Lineage-driven search: from what made a good outcome happen to the smallest sets of faults that would prevent it.

A run without faults is asked backwards (`support.py`): for each object, which calls and deliveries led to its last
change? Each of them is something whose loss might prevent that change, and is taken away: one in each stretch of the
run at a time. That a write was made becomes known in two ways, by its answer and by a watch, and only the loss of
both hides it: so both go, whichever plane leads: that another makes the same write is no other way. If the plane
found another way, the new run is asked in the same manner, and what that way rests on is taken away as well, up to
`rounds_max` times; every other attempt goes on from a run that did. Writes of kinds that were not tried yet come first,
and what happens to whole processes; then deliveries, which the next one makes up for; what is near the outcome before
what is far, outcomes by turns, and the worst that can happen to a message before the rest. What another way made may
be seen in time as well: so of two attempts that go on from a run one takes away deliveries alone. On each run a few
attempts are made, the most promising and some that none was made of yet, then the run of another seed is asked: the
same loss does no harm at one moment, and much at another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from itertools import zip_longest

from fairlead.sim.chance import ChoiceName
from fairlead.sim.search.contract import Plays, SearchAttempt, unlikely
from fairlead.sim.search.points import FaultPoint, Forced, clean_run, of_every_plane, point_at, single_faults
from fairlead.sim.search.support import Lineage
from fairlead.sim.world import Run

_WAITING_MAX = 4_000
_RUNS = 64
_STRETCHES = 4
_FURTHER_EVERY = 2
_PROMISING, _OTHERS = 8, 8  # attempts on one run
_LAG = "watch_lag"
_DONE_UNHEARD = ("reply lost", "request late", "crash after the write")

Cut = tuple[str, Forced]


class LineageSearch:
    name = "lineage"

    def __init__(self, runner: Plays, seed: int, rounds_max: int = 3) -> None:
        self._runner, self._seed, self._rounds_max = runner, seed, rounds_max
        self._first: deque[SearchAttempt] = deque()
        self._further: deque[SearchAttempt] = deque()
        self._rounds: dict[Forced, int] = {}
        self._proposed = self._asked = 0

    def propose(self) -> SearchAttempt | None:
        self._proposed += 1
        if self._further and (not self._first or self._proposed % _FURTHER_EVERY == 0):
            return self._further.popleft()
        if not self._first:
            if self._asked >= _RUNS:
                return None
            run, _ = clean_run(self._runner, self._seed)
            self._rounds.clear()
            self._first.append(self._attempt(self._seed, (), "no fault"))
            cutting = self._cutting(self._seed, (), "", run)
            rest = _PROMISING + self._asked * _OTHERS
            self._first.extend((*cutting[:_PROMISING], *cutting[rest : rest + _OTHERS]))
            self._seed += 1
            self._asked += 1
        return self._first.popleft()

    def learn(self, attempt: SearchAttempt, run: Run) -> None:
        if run.violation is None and 0 < self._rounds.get(attempt.forced, 0) < self._rounds_max:
            for only in (_LAG, ""):
                self._further.extend(self._cutting(attempt.seed, attempt.forced, attempt.told, run, only)[:1])

    def _attempt(self, seed: int, forced: Forced, told: str) -> SearchAttempt:
        return SearchAttempt(
            seed, forced, faults=unlikely(self._runner.at(seed).faults), told=told, watched=True
        )

    def _cutting(self, seed: int, forced: Forced, told: str, run: Run, only: str = "") -> list[SearchAttempt]:
        """What takes away more of what this run rests on; `only`: by faults of this kind."""
        if len(self._further) > _WAITING_MAX:
            return []
        taken, rounds = {name for name, _ in forced}, self._rounds.get(forced, 0) + 1
        places = [point_at(each) for each in run.chance.places or ()]
        made: list[SearchAttempt] = []
        for cuts in zip_longest(*cuts_by_stretch(run, taken, only)):
            chosen = [cut for cut in cuts if cut is not None]
            choices = of_every_plane((choice for _, choices in chosen for choice in choices), places)
            wanted = tuple(sorted({**dict(choices), **dict(forced)}.items()))
            if wanted not in self._rounds:
                self._rounds[wanted] = rounds
                said = "; ".join(filter(None, (told, *(word for word, _ in chosen))))
                made.append(self._attempt(seed, wanted, said))
        return made


def cuts_by_stretch(run: Run, taken: Collection[ChoiceName] = (), only: str = "") -> list[list[Cut]]:
    """By stretch what to take away, in the order of how soon."""
    lineage = Lineage(run)
    points = [each for each in lineage.supports() if each.name not in taken and only in ("", each.label)]
    end = 1 + max((each.position for each in points), default=0)
    found: list[list[tuple[int, Cut]]] = [[] for _ in range(_STRETCHES)]
    kinds: set[tuple[int, str, str]] = set()
    for point in points:
        stretch = point.position * _STRETCHES // end
        kind = (stretch, point.label, point.what)
        mild = not (point.writes or point.label == "incident")  # the next delivery makes up for it
        later = 2 if point.tells else int(kind in kinds) + int(point.reports) + int(mild)
        kinds.add(kind)
        found[stretch] += [(later + worst, cut) for worst, cut in enumerate(_cuts(point, lineage))]
    return [[cut for _, cut in sorted(each, key=lambda ranked: ranked[0])] for each in found]


def _cuts(point: FaultPoint, lineage: Lineage) -> Iterator[Cut]:
    """The worst first. Whoever made a write that is done must not see it either; if it dies, those who come next."""
    for word, choices in single_faults(point):
        if word in _DONE_UNHEARD and (ways := lineage.other_ways(point, own=point.label == "call")):
            lags = tuple(choice for way in ways for choice in single_faults(way)[0][1])
            yield f"{word}, unseen: {point.actor} {point.nth}", (*choices, *lags)
    for word, choices in single_faults(point):
        yield f"{word}: {point.actor} {point.nth}", choices

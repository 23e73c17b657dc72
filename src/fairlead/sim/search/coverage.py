"""Coverage-guided search: runs that met something new are kept, and others are made of them by drawing a part anew.

Something new is a word that no run before has said: which fault hit which kind of call, which verdict a controller
came to for which reason, which outcome a call had. A descendant of a run keeps its choices but for some streams, which
it draws from a seed of its own.
"""

from __future__ import annotations

import json

from fairlead.sim.chance import Chance
from fairlead.sim.search.contract import SearchAttempt
from fairlead.sim.trail import Trail
from fairlead.sim.world import Run

_KEPT_MAX = 256
_FRESH_EVERY = 3  # of so many attempts one is not made of another
_REDRAWN_OF = 8  # one stream in so many is drawn anew


class CoverageSearch:
    name = "coverage"

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._known: set[str] = set()
        self._kept: list[SearchAttempt] = []

    @property
    def words(self) -> int:
        """How many different things were met."""
        return len(self._known)

    def propose(self) -> SearchAttempt:
        seed, self._seed = self._seed, self._seed + 1
        if not self._kept or seed % _FRESH_EVERY == 0:
            return SearchAttempt(seed, watched=True)
        parent = self._kept[Chance(seed).stream("parent").choose(len(self._kept))]
        redrawn = Chance(seed)
        forced = tuple(
            (name, value)
            for name, value in parent.forced
            if redrawn.stream("redrawn", f"{name[0]} {name[1]}").choose(_REDRAWN_OF)
        )
        return SearchAttempt(seed, forced, told=f"descends from seed {parent.seed}", watched=True)

    def learn(self, attempt: SearchAttempt, run: Run) -> None:
        said = words(run)
        if said <= self._known:
            return
        self._known |= said
        choices = tuple(((each[0], each[1], each[2]), each[4]) for each in run.chance.choices)
        self._kept.append(SearchAttempt(attempt.seed, choices))
        del self._kept[:-_KEPT_MAX]


def words(run: Run) -> set[str]:
    """What a run met, each in a word."""
    found = {f"probe {name}" for name, hits in run.probes.items() if hits}
    found |= {
        f"fault {each[0]} {each[4]} {each[1].partition(' ')[2]}"
        for each in run.chance.choices
        if each[5] and each[4]
    }
    return found | _of_trail(run.trail) if run.trail is not None else found


def _of_trail(trail: Trail) -> set[str]:
    found: set[str] = set()
    for step in trail:
        if step.kind == "record":
            record = json.loads(step.data)
            found.add(f"record {record['controller']} {record.get('verdict')} {record.get('reason')}")
        elif step.kind == "replied":
            found.add(f"replied {step.text.partition(' ')[2]}")
    return found

"""Searches that draw: every run from a seed of its own, with delays and orders bent in one way or another.

uniform    as the seed says
swarm      as the seed says, with a subset of the world's faults, each at an intensity of its own
pct        probabilistic concurrency testing: processes and what they wait for have priorities, low ones are as late as
           can be, and at a few points the priorities change
delay      delay-bounded: everything is as early and as much in order as can be, but for a few things that are very late
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import Any

from fairlead.sim.chance import Chance
from fairlead.sim.faults import Faults
from fairlead.sim.search.contract import Plays, SearchAttempt
from fairlead.sim.world import Run

_LEVELS = (0.0, 0.5, 1.0, 3.0, 8.0)  # times the world's own rate
_RATE_MAX = 0.5
_CHANGE_EVERY = 24  # choices of a stream, at most, between two changes of its priority
_LATE_ONES = 1_500  # of so many choices one run makes, `DelayBend.late` are late


def _number(*parts: object) -> int:
    named = "\0".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(named, digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class PctBend:
    seed: int

    def __call__(self, label: str, actor: str, nth: int, n: int, drawn: int) -> int:
        if label == "order" or n < 4:
            return drawn
        change = 1 + _number(self.seed, "change", label, actor) % _CHANGE_EVERY
        high = _number(self.seed, label, actor, nth // change) & 1
        share = max(1, n // 8)
        return drawn % share if high else n - 1 - drawn % share


@dataclass(frozen=True, slots=True)
class DelayBend:
    seed: int
    late: int  # things that are late in a run, about

    def __call__(self, label: str, actor: str, nth: int, n: int, drawn: int) -> int:
        if _number(self.seed, label, actor, nth) % _LATE_ONES >= self.late:
            return 0
        return n - 1 if label != "order" else drawn


def swarm(faults: Faults, seed: int) -> Faults:
    """A subset of these faults, with intensities; which one follows from the seed."""
    chance = Chance(seed)
    levels: dict[str, Any] = {}
    for each in fields(faults):
        rate = getattr(faults, each.name)
        if isinstance(rate, float):
            level = _LEVELS[chance.stream("swarm", each.name).choose(len(_LEVELS))]
            levels[each.name] = min(_RATE_MAX, rate * level)
    kept = tuple(each for each in faults.incidents if chance.stream("swarm", each[0]).choose(2))
    return replace(faults, **levels, incidents=kept or faults.incidents)


def _differences(faults: Faults, drawn: Faults) -> str:
    """In words, what a swarm left out and what it has more of."""
    rates = {each.name: getattr(faults, each.name) for each in fields(faults)}
    rates = {name: rate for name, rate in rates.items() if isinstance(rate, float) and rate}
    gone = [name for name in rates if not getattr(drawn, name)]
    gone += [name for name, _ in faults.incidents if name not in dict(drawn.incidents)]
    more = [f"{name} {getattr(drawn, name):g}" for name, rate in rates.items() if getattr(drawn, name) > rate]
    return "; ".join(
        f"{word} {', '.join(names)}" for word, names in (("without", gone), ("more", more)) if names
    )


class _Drawn:
    def __init__(self, name: str, seed: int, make: Callable[[int], SearchAttempt]) -> None:
        self.name = name
        self._seed, self._make = seed, make

    def propose(self) -> SearchAttempt:
        seed, self._seed = self._seed, self._seed + 1
        return self._make(seed)

    def learn(self, attempt: SearchAttempt, run: Run) -> None:
        """Nothing: seeds have nothing to do with each other."""


def uniform_search(runner: Plays, seed: int) -> _Drawn:
    return _Drawn("uniform", seed, SearchAttempt)


def swarm_search(runner: Plays, seed: int) -> _Drawn:
    def make(each: int) -> SearchAttempt:
        faults = runner.at(each).faults
        drawn = swarm(faults, each)
        return SearchAttempt(each, faults=drawn, told=_differences(faults, drawn))

    return _Drawn("swarm", seed, make)


def pct_search(runner: Plays, seed: int) -> _Drawn:
    return _Drawn("pct", seed, lambda each: SearchAttempt(each, bend=PctBend(each)))


def delay_search(runner: Plays, seed: int) -> _Drawn:
    return _Drawn("delay", seed, lambda each: SearchAttempt(each, bend=DelayBend(each, 4 + each % 8)))

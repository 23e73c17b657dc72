"""All chance of a run: one tape of labelled choices. Same tape, same run.

`Tape(seed)` draws from a generator of its own (splitmix64) and remembers what it drew; `Tape.replay(choices)` plays a
remembered tape again. A replayed tape that runs out, or whose next choice is not among the `n` asked for, answers 0:
the calmest choice by convention, so that an edited (shortened) tape is still a run. Everything in `sim/` that is not
decided by the world's file is drawn here, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_UNIT = 1 << 20  # chances are drawn in this many steps: exact as floats, short on tape


class Choice(NamedTuple):
    label: str
    n: int
    value: int


class Tape:
    __slots__ = ("_next", "_played", "_state", "choices", "fired")

    def __init__(self, seed: int) -> None:
        self._state = (seed * 0xD1342543DE82EF95 + 0x632BE59BD9B4E019) & _MASK
        self._played: Sequence[tuple[str, int, int]] | None = None
        self._next = 0
        self.choices: list[tuple[str, int, int]] = []
        self.fired: dict[str, int] = {}  # fault label -> how often

    @classmethod
    def replay(cls, choices: Sequence[tuple[str, int, int]]) -> Tape:
        tape = cls(0)
        tape._played = choices
        return tape

    def choose(self, label: str, n: int) -> int:
        """One of 0..n-1; 0 is the calmest."""
        if self._played is not None:
            value = self._replayed(n)
        else:
            self._state = z = (self._state + _GAMMA) & _MASK
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
            value = (z ^ (z >> 31)) % n
        self.choices.append((label, n, value))
        return value

    def chance(self, label: str) -> float:
        """0 <= chance < 1."""
        return self.choose(label, _UNIT) / _UNIT

    def happens(self, label: str, probability: float) -> bool:
        """Whether this fault fires now; counted if it does. A probability of 0 draws nothing."""
        if probability <= 0.0:
            return False
        # The calm answer is 0, so the rare one is at the top.
        if self.choose(label, _UNIT) < _UNIT - int(probability * _UNIT):
            return False
        self.count(label)
        return True

    def count(self, label: str) -> None:
        """A fault fired that was chosen in another way."""
        self.fired[label] = self.fired.get(label, 0) + 1

    def _replayed(self, n: int) -> int:
        played, position = self._played, self._next
        self._next = position + 1
        if played is None or position >= len(played):
            return 0
        value = played[position][2]
        return value if value < n else 0

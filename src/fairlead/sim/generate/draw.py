"""What is drawn when a world is made: its own chance, whose labels begin with `world.`, so that none of it moves what
is drawn while the world runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from fairlead.sim.chance import Chance

T = TypeVar("T")
_UNIT = 1000


class Draw:
    """Draws of one actor: an ingredient, the people, the faults."""

    __slots__ = ("_actor", "_chance")

    def __init__(self, chance: Chance, actor: str = "") -> None:
        self._chance, self._actor = chance, actor

    def of(self, actor: str) -> Draw:
        return Draw(self._chance, actor)

    def below(self, label: str, n: int) -> int:
        return self._chance.stream(f"world.{label}", self._actor).choose(n)

    def one_of(self, label: str, options: Sequence[T]) -> T:
        return options[self.below(label, len(options))]

    def weighted(self, label: str, options: Sequence[tuple[T, int]]) -> T:
        at = self.below(label, sum(weight for _, weight in options))
        for option, weight in options:
            at -= weight
            if at < 0:
                return option
        raise ValueError("weights must be positive")

    def happens(self, label: str, share: float) -> bool:
        """Never at share 0, always at 1; the calm answer is that it does not."""
        return self.below(label, _UNIT) >= round(_UNIT * (1 - share))

    def some(self, label: str, options: Sequence[T], share: float) -> tuple[T, ...]:
        """Each of them or not; in their order."""
        return tuple(each for each in options if self.happens(label, share))

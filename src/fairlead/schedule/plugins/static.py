"""The answer of a plugin whose opinion depends on nodes alone: no placement changes it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import SCORE_MAX
from fairlead.schedule.nodes import Ints, Mask

Reasons = Callable[[Ints], dict[str, int]]


class Static:
    """`raw` scores are made comparable over the open nodes: the largest becomes 100, or 0 if `reverse`."""

    def __init__(
        self, mask: Mask | None, reasons: Reasons, raw: Ints | None = None, reverse: bool = False
    ) -> None:
        self._mask, self._reasons, self._raw, self._reverse = mask, reasons, raw, reverse
        self.relative = raw is not None

    def mask(self) -> Mask | None:
        return self._mask

    def reasons(self, slots: Ints) -> dict[str, int]:
        return self._reasons(slots)

    def scores(self, open_slots: Mask) -> Ints | None:
        return None if self._raw is None else normalise(self._raw, open_slots, self._reverse)

    def touched(self, change: OccupancyChange) -> bool:
        return False


def normalise(raw: Ints, open_slots: Mask, reverse: bool) -> Ints:
    largest = int(raw[open_slots].max(initial=0))
    if largest == 0:
        return np.full(len(raw), SCORE_MAX if reverse else 0, np.int64)
    scaled = SCORE_MAX * raw // largest
    return SCORE_MAX - scaled if reverse else scaled


def one_reason(reason: str) -> Reasons:
    return lambda slots: {reason: len(slots)}

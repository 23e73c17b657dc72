"""The latest comings and goings of pods on nodes, for whoever keeps something that depends on them.

The snapshot writes; a reader remembers how far it has read (`end`) and asks for what came `since`. Bounded: a reader
that is too far behind gets None and computes what it keeps anew.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from fairlead.schedule.facts import Facts

#: bound: plane | comings and goings of pods kept | all is rated anew
CHANGES_MAX = 2048


class OccupancyChange(msgspec.Struct, frozen=True, gc=False):
    """A pod of that class came to (1) or left (-1) a slot."""

    slot: int
    facts: Facts
    sign: int
    leaving: bool = False  # it has a deletionTimestamp


class Changes:
    def __init__(self) -> None:
        self._first = 0  # how many were dropped
        self._kept: list[OccupancyChange] = []
        self.end = 0  # how many there were in all

    def append(self, change: OccupancyChange) -> None:
        kept = self._kept
        kept.append(change)
        self.end += 1
        if len(kept) >= 2 * CHANGES_MAX:
            del kept[:CHANGES_MAX]
            self._first += CHANGES_MAX

    def since(self, number: int, at_most: int = CHANGES_MAX) -> Sequence[OccupancyChange] | None:
        if number < self._first or self.end - number > at_most:
            return None
        return self._kept[number - self._first :]

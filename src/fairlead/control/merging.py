"""Blocked decisions are never dropped, only merged: what says the same as the record before is counted, not repeated.

    first                      written as it is
    the same again             counted; written as one line with "attempts": [n, m] when the count has doubled,
    something else, or the     then what was counted is written before it
    end of a term

What is counted is told by a short line in the ring of turns meanwhile, from which a kill is made good
(`blocked_counts.py`). So a key that waits for days leaves as many lines as its count has doublings, each of which is
the newest of the turns that it stands for, with what that one had read. What a repeated turn tells goes by the id of
the record that is there. Used by `record.py` and `placing.py`; made by `health.py`. Pure, and bounded: of keys beyond
that the one that was quiet for longest is written down and forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable

import msgspec

from fairlead.control.blocked_counts import Counted
from fairlead.model.key import Key

#: bound: plane | keys whose blocked decisions are merged at once | what was counted is written, counting begins anew
MERGED_KEYS_MAX = 4_096

Attempts = tuple[int, int]
Encode = Callable[[Attempts | None], bytes]
_COUNTERS = re.compile(r"\b(attempts?) \d+")


class MergedLines(msgspec.Struct, frozen=True, gc=False):
    """Lines to be written, and the id that the decision goes by."""

    lines: tuple[bytes, ...]
    id: str
    counted: Counted | None = None  # in place of a line


class _Series:
    """Turns of one key that say the same. `first` is the number of the first one that no line tells of."""

    __slots__ = ("count", "first", "id", "said", "unwritten", "written")

    def __init__(self, said: Hashable, number: int, decision: str) -> None:
        self.said, self.id = said, decision
        self.count = self.written = 1
        self.first = number + 1
        self.unwritten: tuple[bytes, ...] = ()


def without_counters(message: str) -> str:
    return _COUNTERS.sub(r"\1", message)


class Merging:
    def __init__(self, keys_max: int = MERGED_KEYS_MAX) -> None:
        self._keys_max = keys_max
        self._series: dict[tuple[str, Key], _Series] = {}  # the one that was told of last is last
        self.merged = 0  # plain count: lines that were not written

    def repeats(self, controller: str, key: Key, said: Hashable) -> bool:
        series = self._series.get((controller, key))
        return series is not None and series.said == said

    def other(self, controller: str, key: Key) -> tuple[bytes, ...]:
        """Something else is decided: what was counted, to be written before."""
        series = self._series.pop((controller, key), None) if self._series else None
        return series.unwritten if series is not None else ()

    def blocked(
        self,
        controller: str,
        key: Key,
        said: Hashable,
        decision: str,
        encode: Encode,
        number: int = 0,
        shared: bytes = b"",
    ) -> MergedLines:
        """`said`: all in which it may differ from the one before. `number`: of the attempt, where they are numbered.
        `shared`: a line that its own needs beside it, which the caller writes with lines that are returned."""
        series = self._series.get((controller, key))
        if series is None or series.said != said:
            before = self.other(controller, key)
            self._series[controller, key] = _Series(said, number or 1, decision)
            return MergedLines((*before, *self._bounded(), encode(None)), decision)
        series.count += 1
        self.merged += 1
        number = number or series.count
        line = encode((series.first, number))
        self._series[controller, key] = self._series.pop((controller, key))
        if series.count < 2 * series.written:
            series.unwritten = (shared, line) if shared else (line,)
            return MergedLines((), series.id, Counted(series.id, series.first, number))
        series.written, series.first, series.id = series.count, number + 1, decision
        series.unwritten = ()
        return MergedLines((line,), decision)

    def end(self) -> tuple[bytes, ...]:
        """A term ends: all that was counted."""
        found = tuple(line for series in self._series.values() for line in series.unwritten)
        self._series.clear()
        return found

    def _bounded(self) -> tuple[bytes, ...]:
        if len(self._series) <= self._keys_max:
            return ()
        oldest = next(iter(self._series))
        return self._series.pop(oldest).unwritten

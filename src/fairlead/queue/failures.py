"""How often each key failed in a row, and which failed most, without looking through all of them.

Keys are kept in one bucket per count, in the order they reached it. A count lives as long as its key has a turn
before it or in progress, so there are never more counts than keys in the queue. Called by `work.py` only.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Generic

from fairlead.queue.entry import K


class Failures(Generic[K]):
    __slots__ = ("_buckets", "_counts")

    def __init__(self) -> None:
        self._counts: dict[K, int] = {}
        self._buckets: dict[int, dict[K, None]] = {}

    def __len__(self) -> int:
        return len(self._counts)

    def of(self, key: K) -> int:
        return self._counts.get(key, 0)

    def count(self, key: K) -> int:
        """One more. The new count."""
        before = self._counts.get(key, 0)
        if before:
            self._leave_bucket(key, before)
        self._counts[key] = before + 1
        self._buckets.setdefault(before + 1, {})[key] = None
        return before + 1

    def clear(self, key: K) -> None:
        count = self._counts.pop(key, 0)
        if count:
            self._leave_bucket(key, count)

    def top(self, limit: int) -> tuple[tuple[K, int], ...]:
        """The keys with the highest counts; among equals, those who got there first."""
        return tuple(islice(self._descending(), limit))

    def _descending(self) -> Iterator[tuple[K, int]]:
        for count in sorted(self._buckets, reverse=True):
            for key in self._buckets[count]:
                yield key, count

    def _leave_bucket(self, key: K, count: int) -> None:
        bucket = self._buckets[count]
        del bucket[key]
        if not bucket:
            del self._buckets[count]

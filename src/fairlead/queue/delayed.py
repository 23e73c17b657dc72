"""Entries that are not due yet, earliest first; equal times in the order they came.

A heap that is never searched: an entry that moved to an earlier time, or became ready, leaves its old record behind,
which is skipped when it surfaces. When most records are such, the heap is rewritten, so that a key which is put off
far into the future over and over does not fill the memory. Called by `work.py` only.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import Generic

from fairlead.queue.entry import K, QueuedKey

_SLACK = 64


class Delayed(Generic[K]):
    __slots__ = ("_heap", "_sequence", "live", "wake_at")

    def __init__(self) -> None:
        self.live = 0
        self.wake_at = inf  # no entry is due before this
        self._sequence = 0
        self._heap: list[tuple[float, int, QueuedKey[K]]] = []

    def push(self, entry: QueuedKey[K]) -> None:
        """A new entry."""
        self.live += 1
        self._record(entry)

    def hasten(self, entry: QueuedKey[K]) -> None:
        """The entry's `ready_at` was made earlier."""
        self._record(entry)
        if len(self._heap) > 2 * self.live + _SLACK:
            self._rewrite()

    def leave(self) -> None:
        """One of the entries became ready before its time; its `ready_at` says so."""
        self.live -= 1
        if len(self._heap) > 2 * self.live + _SLACK:
            self._rewrite()

    def pop_due(self, now: float) -> QueuedKey[K] | None:
        """The earliest entry whose time has come. None when there is none left."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            at, _, entry = heappop(heap)
            if entry.ready_at == at:
                self.live -= 1
                return entry
        self.wake_at = heap[0][0] if heap else inf
        return None

    def first(self) -> QueuedKey[K] | None:
        """The earliest entry, due or not. It stays."""
        heap = self._heap
        while heap and heap[0][2].ready_at != heap[0][0]:
            heappop(heap)
        self.wake_at = heap[0][0] if heap else inf
        return heap[0][2] if heap else None

    def _record(self, entry: QueuedKey[K]) -> None:
        self._sequence += 1
        heappush(self._heap, (entry.ready_at, self._sequence, entry))
        self.wake_at = min(self.wake_at, entry.ready_at)

    def _rewrite(self) -> None:
        self._heap = [each for each in self._heap if each[2].ready_at == each[0]]
        heapify(self._heap)

"""The ready keys of one priority: first come, first served within a namespace, and namespaces take turns.

A namespace that was served goes to the end of the ring, one that has nothing left leaves it, one that gets its first
key joins at the end. So while k namespaces have something waiting, any k turns in a row serve k different ones,
however much one of them adds. Called by `work.py` only.
"""

from __future__ import annotations

from collections import deque
from typing import Generic

from fairlead.queue.entry import K, QueuedKey

# Dead entries a lane may hold beyond its live ones before it is rewritten.
_SLACK = 64


class _Lane(Generic[K]):
    """One namespace. `entries` may hold some that moved on to a higher priority; `live` does not count them."""

    __slots__ = ("entries", "live", "namespace")

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.entries: deque[QueuedKey[K]] = deque()
        self.live = 0


class FairLine(Generic[K]):
    __slots__ = ("_lanes", "_ring", "live", "passed", "priority")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self.live = 0
        self.passed = 0  # turns given to other priorities since this one was last served
        self._lanes: dict[str, _Lane[K]] = {}
        self._ring: deque[_Lane[K]] = deque()

    def push(self, entry: QueuedKey[K]) -> None:
        namespace = entry.key.namespace
        lane = self._lanes.get(namespace)
        if lane is None:
            lane = self._lanes[namespace] = _Lane(namespace)
            self._ring.append(lane)
        lane.entries.append(entry)
        lane.live += 1
        self.live += 1

    def take(self) -> QueuedKey[K]:
        """The next entry. Only to be called while `live` is not 0."""
        ring = self._ring
        lane = ring.popleft()
        while not lane.live:
            del self._lanes[lane.namespace]
            lane = ring.popleft()
        entries = lane.entries
        entry = entries.popleft()
        while entry.priority != self.priority:
            entry = entries.popleft()
        lane.live -= 1
        self.live -= 1
        if lane.live:
            ring.append(lane)
        else:
            del self._lanes[lane.namespace]
        return entry

    def leave(self, entry: QueuedKey[K]) -> None:
        """The entry is about to move to a higher priority. It must still have this one."""
        lane = self._lanes[entry.key.namespace]
        lane.live -= 1
        self.live -= 1
        if not self.live:
            self.passed = 0
            self._lanes.clear()
            self._ring.clear()
        elif not lane.live:
            lane.entries.clear()  # it keeps its place in the ring until that comes up
        elif len(lane.entries) > 2 * lane.live + _SLACK:
            lane.entries = deque(each for each in lane.entries if each.priority == self.priority)

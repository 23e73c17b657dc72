"""The near past in memory: the last changes of one resource, bounded by count and by bytes.

Watches that resume from a recent revision and reads a little back in time are served from here; only what is
older goes to the journal. Held by `durable.py`, one per resource, so that a busy kind evicts only its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import islice

from fairlead.model.key import Key
from fairlead.store.contract import CommittedChange, Entry

# What a change keeps alive besides its values: the records themselves and the key.
_CHANGE_OVERHEAD_BYTES = 400


def _cost(change: CommittedChange) -> int:
    before = change.before
    # Twice, because the frame that watchers share is kept with it.
    return 2 * len(change.entry.data) + (len(before.data) if before else 0) + _CHANGE_OVERHEAD_BYTES


def _revision(change: CommittedChange) -> int:
    return change.entry.revision


class Window:
    """Knows every change of its resource after `start`."""

    __slots__ = ("_bytes", "_bytes_max", "_changes", "_changes_max", "start")

    def __init__(self, start: int, changes_max: int, bytes_max: int) -> None:
        self.start = start
        self._changes: deque[CommittedChange] = deque()
        self._bytes = 0
        self._changes_max = changes_max
        self._bytes_max = bytes_max

    def add(self, change: CommittedChange) -> None:
        changes = self._changes
        changes.append(change)
        self._bytes += _cost(change)
        while self._bytes > self._bytes_max or len(changes) > self._changes_max:
            dropped = changes.popleft()
            self._bytes -= _cost(dropped)
            self.start = dropped.entry.revision

    def forget(self, floor: int) -> bool:
        """Drop what nobody may ask for any more: changes up to the floor of the resource. Whether nothing is left."""
        changes = self._changes
        while changes and changes[0].entry.revision <= floor:
            dropped = changes.popleft()
            self._bytes -= _cost(dropped)
            self.start = dropped.entry.revision
        return not changes

    def after(self, revision: int, limit: int) -> Sequence[CommittedChange]:
        """Up to `limit` changes after a revision that is not before `start`."""
        index = bisect_right(self._changes, revision, key=_revision)
        return tuple(islice(self._changes, index, index + limit))

    def first_after(self, revision: int, key: Key) -> CommittedChange | None:
        """The first change of a key after a revision; its `before` is what was there at that revision."""
        for change in islice(self._changes, bisect_right(self._changes, revision, key=_revision), None):
            if change.entry.key == key:
                return change
        return None

    def undo(self, revision: int) -> dict[Key, Entry | None]:
        """For each key changed after a revision: what was there at that revision."""
        past: dict[Key, Entry | None] = {}
        for change in islice(self._changes, bisect_right(self._changes, revision, key=_revision), None):
            past.setdefault(change.entry.key, change.before)
        return past

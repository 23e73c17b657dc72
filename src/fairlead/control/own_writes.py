"""The writes of one controller that its mirrors do not show yet: a key has no turn before. Part of `controller.py`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from fairlead.control.turn import Write
from fairlead.store.contract import Key


class OwnWrites:
    def __init__(self, seen: Callable[[Write], bool]) -> None:
        """`seen` tells whether the mirrors show a write."""
        self._seen = seen
        self._unseen: OrderedDict[Key, list[Write]] = OrderedDict()  # the oldest first

    def add(self, key: Key, writes: Sequence[Write]) -> None:
        if writes:
            self._unseen.setdefault(key, []).extend(writes)

    def are_seen(self, key: Key) -> bool:
        """Whether the mirrors show all that was written for a key."""
        writes = self._unseen.get(key)
        if not writes:
            return True
        left = [write for write in writes if not self._seen(write)]
        if left:
            self._unseen[key] = left
            return False
        del self._unseen[key]
        return True

    def settle(self) -> None:
        """Forget writes of keys that have no further turn as well, or they would be remembered for ever."""
        while self._unseen and self.are_seen(next(iter(self._unseen))):
            pass

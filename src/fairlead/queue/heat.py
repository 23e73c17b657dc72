"""Keys that run too often. They are found by counting turns, slowed down, reported, and let go when they are calm.

Turns are counted per window; the count at any moment is this window's plus the share of the last one that still lies
within a window's length, so a burst across the border is not overlooked. A hot key is held: it may start once per
interval. Each add that had to be put off shows that it still wants more, and prolongs the hold.
A key without a name stands for many objects, whose work it does in lots: it is never hot.
Called by `work.py` only. Memory: the keys that ran within two windows.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from math import inf
from typing import Generic

import msgspec

from fairlead.queue.entry import K
from fairlead.queue.settings import QueueSettings

# News that nobody fetched; older ones are dropped, the snapshot still shows who is held.
#: bound: plane | reports about hot keys kept | the oldest go
REPORTS_MAX = 1000


class Quarantined(msgspec.Struct, Generic[K], frozen=True, tag=True):
    """A key became hot: so many turns within a window."""

    key: K
    at: float
    turns: int


class Released(msgspec.Struct, Generic[K], frozen=True, tag=True):
    key: K
    at: float


class KeyHold(msgspec.Struct, Generic[K], gc=False):
    since: float
    turns: int  # within a window, when it was found
    started_at: float  # its last turn
    until: float
    put_off: int = 0  # adds that had to wait because of the hold


class Heat(Generic[K]):
    __slots__ = ("_last", "_settings", "_this", "_window_start", "found", "held", "reports")

    def __init__(self, settings: QueueSettings) -> None:
        self._settings = settings
        self._this: dict[K, int] = {}
        self._last: dict[K, int] = {}
        self._window_start = -inf
        self.held: OrderedDict[K, KeyHold[K]] = OrderedDict()  # the one to be released next is first
        self.found = 0
        self.reports: deque[Quarantined[K] | Released[K]] = deque(maxlen=REPORTS_MAX)

    def apply(self, settings: QueueSettings, now: float) -> None:
        """With a new window the counting starts anew; holds stay unless nothing can be hot any more."""
        if settings.hot_window_seconds != self._settings.hot_window_seconds:
            self._this, self._last, self._window_start = {}, {}, -inf
        self._settings = settings
        if not settings.hot_turns_max:
            for key in list(self.held):
                self.release(key, now)

    def started(self, key: K, now: float) -> None:
        """A turn of this key begins."""
        limit = self._settings.hot_turns_max
        if not limit or not key.name:
            return
        if self.held:
            self.release_calm(now)
            hold = self.held.get(key)
            if hold is not None:
                hold.started_at = now
                return
        elapsed = now - self._window_start
        if not 0 <= elapsed < self._settings.hot_window_seconds:
            elapsed = self._turn_window(now, elapsed)
        turns = self._this[key] = self._this.get(key, 0) + 1
        if self._last:
            turns += int(self._last.get(key, 0) * (1 - elapsed / self._settings.hot_window_seconds))
        if turns > limit:
            self.found += 1
            self.held[key] = KeyHold(now, turns, now, now + self._settings.quarantine_seconds)
            self.reports.append(Quarantined(key, now, turns))

    def hold(self, key: K, now: float, times: int) -> None:
        """Somebody found out in another way that it runs in circles. Whoever did reports it himself."""
        if self._settings.hot_turns_max and key not in self.held:
            self.found += 1
            self.held[key] = KeyHold(now, times, now, now + self._settings.quarantine_seconds)

    def earliest(self, key: K, now: float, at: float) -> float:
        """When an add for `at` may run."""
        hold = self.held.get(key)
        if hold is None:
            return at
        if hold.until <= now:
            self.release(key, now)
            return at
        floor = hold.started_at + self._settings.quarantine_interval_seconds
        if at >= floor:
            return at
        hold.put_off += 1
        hold.until = now + self._settings.quarantine_seconds
        self.held.move_to_end(key)
        return floor

    def release(self, key: K, now: float) -> None:
        """Let a held key go, with a clean slate."""
        if self.held.pop(key, None) is not None:
            self._this.pop(key, None)
            self._last.pop(key, None)
            self.reports.append(Released(key, now))

    def release_calm(self, now: float) -> None:
        """Let those go whose time is over; also when nothing runs any more and somebody looks."""
        while self.held:
            key = next(iter(self.held))
            if self.held[key].until > now:
                return
            self.release(key, now)

    def _turn_window(self, now: float, elapsed: float) -> float:
        """Begin the window that `now` lies in; how far into it `now` is."""
        length = self._settings.hot_window_seconds
        if 0 <= elapsed < 2 * length:
            self._last, self._this = self._this, {}
            self._window_start += length
        else:
            self._last, self._this = {}, {}
            self._window_start = now
        return now - self._window_start

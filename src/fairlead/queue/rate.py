"""The overall limit on how many turns may start: a token bucket, kept as one moment in time.

`_full_at` is when the bucket will be full again; a turn moves it one interval further. Asking "when" and asking
"now?" compare the same two numbers, so a timer set to `ready_at` never fires too early by a rounding error.
"""

from __future__ import annotations

from math import inf


class Rate:
    __slots__ = ("_depth", "_full_at", "_interval", "_slack", "is_limited")

    def __init__(self, per_second: float, burst: int) -> None:
        self._full_at = -inf
        self.apply(per_second, burst)

    def apply(self, per_second: float, burst: int) -> None:
        """Takes effect from the next turn on."""
        self.is_limited = per_second > 0
        self._interval = 1 / per_second if per_second > 0 else 0.0
        self._slack = self._interval * (burst - 1)
        self._depth = self._interval * burst

    def ready_at(self, now: float) -> float:
        """When the next turn may start: at or before `now` means at once."""
        # An empty bucket is full after _depth. Later than that can only be a clock, or a setting, that went back.
        self._full_at = min(self._full_at, now + self._depth)
        return self._full_at - self._slack

    def take(self, now: float) -> None:
        """A turn starts."""
        self._full_at = max(self._full_at, now) + self._interval

"""What the wall clock shows beside the plane's own time, which is steady and never set (`runtime/clock.py`).

Held by `control/sources.py`, told of each step by the plane, read through `view.py` by Deciders whose objects are due
by the wall clock. The steps are remembered, so that an instant of the past has the wall time that it had. Without a
step, and before the first, both are the same. No clock: instants come with the events.
"""

from __future__ import annotations

from bisect import bisect_right

# The times of older ones are forgotten: instants before count as of the oldest that is known.
#: bound: plane | steps of the wall clock remembered | the oldest are forgotten
CLOCK_STEPS_REMEMBERED_MAX = 64


class WallClock:
    __slots__ = ("_ahead", "_since")

    def __init__(self) -> None:
        self._since: list[float] = [0.0]
        self._ahead: list[float] = [0.0]

    def stepped(self, now: float, ahead_seconds: float) -> None:
        self._since.append(now)
        self._ahead.append(ahead_seconds)
        if len(self._since) > CLOCK_STEPS_REMEMBERED_MAX:
            del self._since[1], self._ahead[0]

    def shown(self, at: float) -> float:
        """What it showed, or will show unless it is set, at this instant of the plane's time."""
        return at + self.ahead(at)

    def ahead(self, at: float) -> float:
        """By how much it was ahead of the plane's time then; 0.0 unless it was set."""
        return self._ahead[bisect_right(self._since, at) - 1]

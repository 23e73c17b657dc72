"""Durations as plain integers that the runtime turns into metrics."""

from __future__ import annotations

from bisect import bisect_left

BOUNDS_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0)


class Histogram:
    """`counts[i]` durations were at most BOUNDS_SECONDS[i] and more than the bound before; the last had no bound."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_SECONDS) + 1)
        self.seconds = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS_SECONDS, seconds)] += 1
        self.seconds += seconds

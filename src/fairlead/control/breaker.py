"""A breaker shared by all controllers: an API that does not answer is left alone for a while.

Plain arithmetic over the outcomes the plane sees. While the breaker is open no effects are sent; looks after unknown
outcomes go on, slowly, because they are how the plane learns that the API is well again. How often an API that is
merely unwell is asked is the matter of `budget.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BreakerSettings:
    """`failures_max` in a row open the breaker; it stays open for `open_seconds`, doubling up to the maximum."""

    failures_max: int = 10
    open_seconds: float = 0.5
    open_max_seconds: float = 30.0


class Breaker:
    __slots__ = ("_failures", "_open_for", "open_until", "opened", "settings")

    def __init__(self, settings: BreakerSettings | None = None) -> None:
        self.settings = settings or BreakerSettings()
        self._failures = 0
        self._open_for = self.settings.open_seconds
        self.open_until = 0.0
        self.opened = 0  # how often, for metrics

    def apply(self, settings: BreakerSettings) -> None:
        """From the next failure on; an open breaker closes when it was to."""
        self.settings = settings
        self._open_for = min(max(self._open_for, settings.open_seconds), settings.open_max_seconds)

    def is_open(self, now: float) -> bool:
        return now < self.open_until

    def succeeded(self) -> None:
        self._failures = 0
        self._open_for = self.settings.open_seconds

    def failed(self, now: float) -> None:
        """The API did not answer, or answered that it cannot."""
        self._failures += 1
        if self._failures >= self.settings.failures_max and not self.is_open(now):
            self.open_until = now + self._open_for
            self._open_for = min(self._open_for * 2, self.settings.open_max_seconds)
            self._failures = 0
            self.opened += 1

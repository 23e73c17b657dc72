"""Every knob of a work queue, in one frozen record. `WorkQueue.apply` takes a new one while running.

Values come from PlaneSettings; what a knob was before, and who changed it, is that object's history.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.core.backoff import backoff


@dataclass(frozen=True, slots=True)
class QueueSettings:
    # After a failure: first * 2 ** (failures - 1), at most max, times 1 +- jitter.
    backoff_seconds: float = 0.1
    backoff_max_seconds: float = 30.0
    backoff_jitter: float = 0.2

    # All keys together: turns per second, and how many may start at once after a pause. 0: no limit.
    rate_per_second: float = 0.0
    rate_burst: int = 100

    # A lower priority that was passed over this often is served once.
    passes_max: int = 15

    # More than hot_turns_max turns in a window make a key hot. It then starts at most once per interval, until it
    # has not been held back for quarantine_seconds. 0 turns: no key is ever hot.
    hot_turns_max: int = 600
    hot_window_seconds: float = 60.0
    quarantine_interval_seconds: float = 1.0
    quarantine_seconds: float = 30.0

    # Waiting keys beyond which an add reports overload. It is still queued.
    keys_max: int = 1_000_000

    def __post_init__(self) -> None:
        for name in ("backoff_seconds", "rate_per_second", "hot_turns_max", "keys_max"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        for name in ("hot_window_seconds", "quarantine_interval_seconds", "quarantine_seconds"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0")
        if self.backoff_max_seconds < self.backoff_seconds:
            raise ValueError("backoff_max_seconds must not be less than backoff_seconds")
        if not 0 <= self.backoff_jitter <= 1:
            raise ValueError("backoff_jitter must be between 0 and 1")
        for name in ("rate_burst", "passes_max"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1")

    def delay(self, attempt: int, chance: float) -> float:
        """Seconds to wait after failure number `attempt` in a row; `chance` is drawn by the caller, 0 <= chance < 1."""
        return backoff(attempt, self.backoff_seconds, self.backoff_max_seconds, self.backoff_jitter, chance)

"""One budget of retries for all controllers: a sick API is not asked more often because it is sick.

A token bucket. Every call that goes well earns a share of a retry, every second earns a few in any case, and so many
can be saved up. First attempts are free. A retry that finds the bucket empty waits in line, and pays when it is let go.
Looks after unknown outcomes pay too, but do not queue behind retries: they are how the plane learns what happened.
Plain arithmetic; `breaker.py` is what stops everything when nothing is answered any more.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

W = TypeVar("W", bound=Hashable)

# What is missing from a whole token by rounding is no reason to wait: a timer set to `ready_at` finds one.
_WHOLE = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    share: float = 0.2
    per_second: float = 10.0
    burst: int = 100


class RetryBudget(Generic[W]):
    __slots__ = ("_at", "_left", "held_back", "settings", "spent", "waiting")

    def __init__(self, settings: BudgetSettings | None = None) -> None:
        self.settings = settings or BudgetSettings()
        self._left = float(self.settings.burst)
        self._at = 0.0
        self.waiting: dict[W, None] = {}  # in the order they came
        self.spent = self.held_back = 0  # plain counts for metrics

    def apply(self, settings: BudgetSettings) -> None:
        """What was saved up stays, as far as it still may be."""
        self.settings = settings
        self._left = min(self._left, float(settings.burst))

    def earned(self) -> None:
        """A call went well."""
        self._left = min(self.settings.burst, self._left + self.settings.share)

    def left(self, now: float) -> float:
        passed, self._at = max(0.0, now - self._at), now
        self._left = min(self.settings.burst, self._left + passed * self.settings.per_second)
        return self._left

    def take(self, now: float) -> bool:
        """Pay for one look, whoever waits."""
        if self.left(now) < _WHOLE:
            return False
        self._left -= 1
        self.spent += 1
        return True

    def take_or_wait(self, waiter: W, now: float) -> bool:
        """Pay for one retry, or join the line."""
        if not self.waiting and self.take(now):
            return True
        self.waiting[waiter] = None
        self.held_back += 1
        return False

    def released(self, now: float) -> list[W]:
        """Those whose turn has come; they are paid for."""
        let_go: list[W] = []
        while self.waiting and self.take(now):
            first = next(iter(self.waiting))
            del self.waiting[first]
            let_go.append(first)
        return let_go

    def ready_at(self, now: float) -> float:
        """When there is a whole retry at the latest."""
        missing = 1 - self.left(now)
        return now if missing <= 1 - _WHOLE else now + missing / self.settings.per_second

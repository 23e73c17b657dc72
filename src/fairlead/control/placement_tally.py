"""What the scheduler has done, as plain integers that `runtime/` turns into metrics. `placing.py` alone counts here.

Every attempt is counted once, when it is known what came of it: `scheduled` when its binding is confirmed,
`unschedulable` when that has been told, `error` when neither could be. The bounds are those of kube-scheduler.
"""

from __future__ import annotations

from bisect import bisect_left

from fairlead.schedule.contract import SchedulingAttempt
from fairlead.schedule.waiting import FLUSH, TakenPod

SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"
_ATTEMPT_SECONDS = tuple(0.001 * 2**power for power in range(15))
_POD_SECONDS = tuple(0.01 * 2**power for power in range(20))


class Distribution:
    """`counts[i]` values were at most `bounds[i]` and more than the bound before; the last had no bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class PlacementTally:
    def __init__(self) -> None:
        self.durations = {
            result: Distribution(_ATTEMPT_SECONDS) for result in (SCHEDULED, UNSCHEDULABLE, ERROR)
        }
        self.pod_seconds = Distribution(_POD_SECONDS)  # from first seen without a node to bound
        self.pod_attempts = Distribution((1, 2, 4, 8, 16))
        self.preemptions = 0
        self.victims = Distribution((1, 2, 4, 8, 16, 32, 64))
        self.flushes_needed = (
            0  # tried for no other cause than a long wait, and bound: a cause that nobody named
        )

    def ended(self, result: str, taken: TakenPod, began: float, now: float) -> None:
        self.durations[result].add(now - began)
        if result is SCHEDULED:
            self.pod_seconds.add(now - taken.since)
            self.pod_attempts.add(taken.attempts)
            self.flushes_needed += taken.woken_by == FLUSH

    def preempted(self, attempt: SchedulingAttempt) -> None:
        """It fitted nowhere, and was asked whether others could make room."""
        if attempt.considered:
            self.preemptions += 1
        if attempt.victims:
            self.victims.add(len(attempt.victims))

    def count(self, result: str) -> int:
        return sum(self.durations[result].counts)

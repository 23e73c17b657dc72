"""How an agent paces itself: every interval, back-off and limit of the machine in one place.

Given to `Agent` beside the NodeSettings; the defaults are kubelet's where kubelet has them. `Retry` is how anything
that failed is tried again: doubling, spread by chance, never given up.
"""

from __future__ import annotations

import msgspec

from fairlead.core.backoff import backoff


class Pace(msgspec.Struct, frozen=True):
    # A container that ends again and again
    crash_seconds: float = 10.0
    crash_max_seconds: float = 300.0
    crash_reset_seconds: float = 600.0  # a run of this length ends the doubling
    # What failed at the API or the driver
    retry_seconds: float = 1.0
    retry_max_seconds: float = 30.0
    jitter: float = 0.25
    ask_again_seconds: float = 30.0  # a driver's instruction without visible effect is given again
    # The node
    node_status_seconds: float = 300.0  # an unchanged status is written this often
    start_seconds: float = 30.0  # an agent that starts has so long before its node says that it is not ready
    # ConfigMaps and Secrets in use
    refresh_seconds: float = 60.0
    absent_seconds: float = 5.0  # one that was not there is looked for again
    stirred_seconds: float = 1.0  # one that changes all the time is read this often
    attended_max: int = 32  # watched one by one; those beyond it are read by the minute only
    # Pods
    orphan_grace_seconds: int = 30  # for a pod of which nothing is known but that it runs
    grace_min_seconds: float = 1.0
    writes_in_flight_max: int = 8
    reads_in_flight_max: int = 8
    message_max: int = 1024
    # Events
    events_burst: int = 50  # of the node
    events_per_second: float = 1.0
    events_of_pod_burst: int = 25
    events_of_pod_refill_seconds: float = 300.0
    events_remembered_max: int = 1024


class Retry:
    """When something that failed may be tried again. `at` is 0 when nothing stands in the way."""

    __slots__ = ("at", "failures")

    def __init__(self) -> None:
        self.at = 0.0
        self.failures = 0

    def failed(self, now: float, pace: Pace, chance: float) -> None:
        self.failures += 1
        wait = backoff(self.failures, pace.retry_seconds, pace.retry_max_seconds, pace.jitter, chance)
        self.at = now + wait

    def succeeded(self) -> None:
        self.at, self.failures = 0.0, 0

    def waits(self, now: float) -> bool:
        return now < self.at

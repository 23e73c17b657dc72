"""What is counted of the requests of one schema in one priority level, for metrics. Plain numbers."""

from __future__ import annotations

from fairlead.queue.histogram import Histogram


class FlowCounts:
    """`at_once` of those that were dispatched did not wait; how long the others did is in `waited`."""

    __slots__ = ("at_once", "cancelled", "dispatched", "executing", "refused", "waited", "waiting")

    def __init__(self) -> None:
        self.dispatched = self.at_once = 0
        self.waiting = self.executing = 0  # at this moment
        self.cancelled = 0  # whose clients left before their turn
        self.refused: dict[str, int] = {}  # by reason
        self.waited = Histogram()

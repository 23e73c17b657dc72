"""What pods of lower priority take of each node: what preemption could free at most, for all nodes at once.

Computed when a priority first preempts, from then on kept up to date by the snapshot's changes. Clusters in which
nobody preempts pay nothing.
"""

from __future__ import annotations

import numpy as np

from fairlead.core.bounded_dict import BoundedDict
from fairlead.schedule.nodes import Ints
from fairlead.schedule.snapshot import Placed, Snapshot

#: bound: plane | priorities that preempt kept | summed up anew
PRIORITIES_MAX = 8  # of preempting pods, kept at a time


class LowerOf:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: BoundedDict[int, _Lower] = BoundedDict(PRIORITIES_MAX)  # those used last are last

    def than(self, priority: int) -> _Lower:
        known = self._known.pop(priority, None)
        if known is None or not known.catch_up(self._snapshot):
            known = _Lower(self._snapshot, priority)
        return self._known.keep(priority, known)

    def on(self, node: str, priority: int) -> list[Placed]:
        """The pods themselves, the most important first: by priority, then who came earlier."""
        beside = self._snapshot.on.get(node, {})
        lower = [each for each in beside.values() if each.facts.priority < priority]
        lower.sort(key=lambda each: (-each.facts.priority, each.started, each.key))
        return lower


class _Lower:
    def __init__(self, snapshot: Snapshot, priority: int) -> None:
        self._priority = priority
        self._slots = snapshot.nodes.slots
        self._version = snapshot.nodes.version
        self._seen = snapshot.changes.end
        self._used: dict[str, Ints] = {}
        self.pods: Ints = self.used("pods")
        for node, beside in snapshot.on.items():
            slot = snapshot.nodes.slot.get(node)
            if slot is not None:
                for placed in beside.values():
                    if placed.facts.priority < priority:
                        self._add(slot, placed.facts.requests, 1)

    def used(self, resource: str) -> Ints:
        known = self._used.get(resource)
        if known is None:
            known = self._used[resource] = np.zeros(self._slots, np.int64)
        return known

    def catch_up(self, snapshot: Snapshot) -> bool:
        """Whether that was possible."""
        changes = snapshot.changes.since(self._seen) if self._version == snapshot.nodes.version else None
        if changes is None:
            return False
        for change in changes:
            if change.facts.priority < self._priority:
                self._add(change.slot, change.facts.requests, change.sign)
        self._seen = snapshot.changes.end
        return True

    def _add(self, slot: int, requests: dict[str, int], sign: int) -> None:
        for resource, value in requests.items():
            self.used(resource)[slot] += sign * value

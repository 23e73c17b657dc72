"""Nodes on which cpu and memory would be used in like shares are worth more: less is left over that nobody can use."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fairlead.schedule.changes import Change
from fairlead.schedule.contract import SCORE_MAX, Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.nodes import Ints, Mask, Nodes
from fairlead.schedule.snapshot import Snapshot


class BalancedAllocation:
    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    wakes_on: ClassVar[frozenset[str]] = frozenset()
    evicting_helps: ClassVar[bool] = False
    concerns: ClassVar[tuple[str, ...]] = ()

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        if not facts.requests.get("cpu") and not facts.requests.get("memory"):
            return None  # asks for nothing: is welcome everywhere alike
        return _Balance(snapshot.nodes, facts)


class _Balance:
    relative: ClassVar[bool] = False

    def __init__(self, nodes: Nodes, facts: Facts) -> None:
        self._cpu, self._cpu_used = nodes.column("cpu")
        self._memory, self._memory_used = nodes.column("memory")
        self._asked = facts.requests.get("cpu", 0), facts.requests.get("memory", 0)
        self._scores = self._scored()

    def mask(self) -> None:
        return None

    def reasons(self, slots: Ints) -> dict[str, int]:
        return {}

    def scores(self, open_slots: Mask) -> Ints:
        return self._scores

    def touched(self, change: Change) -> bool:
        self._scores[change.slot] = self._scored_at(change.slot)
        return False

    def _scored(self) -> Ints:
        """Half the distance of the two shares is their deviation; a node that has only one resource has none."""
        cpu, memory = self._cpu, self._memory
        both = (cpu > 0) & (memory > 0)
        one = _shares(self._cpu_used + self._asked[0], np.where(both, cpu, 1))
        other = _shares(self._memory_used + self._asked[1], np.where(both, memory, 1))
        deviation = np.where(both, np.abs(one - other) / 2, 0.0)
        scores: Ints = ((1.0 - deviation) * SCORE_MAX).astype(np.int64)
        return scores

    def _scored_at(self, slot: int) -> int:
        """The same for one slot: the same operations on floats of the same kind, so the same number."""
        cpu: int = self._cpu.item(slot)
        memory: int = self._memory.item(slot)
        if cpu <= 0 or memory <= 0:
            return SCORE_MAX
        one = min(float(self._cpu_used.item(slot) + self._asked[0]) / float(cpu), 1.0)
        other = min(float(self._memory_used.item(slot) + self._asked[1]) / float(memory), 1.0)
        return int((1.0 - abs(one - other) / 2) * SCORE_MAX)


def _shares(asked: Ints, room: Ints) -> Any:
    return np.minimum(asked / room, 1.0)

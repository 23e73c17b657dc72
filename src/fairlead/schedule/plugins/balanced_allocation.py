"""Nodes that a pod brings closer to using cpu and memory in like shares are worth more; those it unbalances, less.

What is left over of one resource alone is of use to nobody. Kubernetes scores the change like this since its pull
request 135573; before, it scored the balance that would be there.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import SCORE_MAX, Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.nodes import Ints, Mask, Nodes
from fairlead.schedule.snapshot import Snapshot

_UNCHANGED = 0.75


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
        self._cells = *nodes.cells("cpu"), *nodes.cells("memory")
        self._scores = self._scored()

    def mask(self) -> None:
        return None

    def reasons(self, slots: Ints) -> dict[str, int]:
        return {}

    def scores(self, open_slots: Mask) -> Ints:
        return self._scores

    def touched(self, change: OccupancyChange) -> bool:
        self._scores[change.slot] = self._scored_at(change.slot)
        return False

    def _scored(self) -> Ints:
        """Three quarters of the best where the pod changes nothing; more where the shares come closer by it, less where
        they part. Half the distance of the two is their deviation; a node that has only one resource has none."""
        cpu, memory = self._cpu, self._memory
        both = (cpu > 0) & (memory > 0)
        room = np.where(both, cpu, 1), np.where(both, memory, 1)
        before = _distances(self._cpu_used, self._memory_used, room)
        after = _distances(self._cpu_used + self._asked[0], self._memory_used + self._asked[1], room)
        change = np.where(both, (before - after) / 4, 0.0)
        scores: Ints = ((_UNCHANGED + change) * SCORE_MAX).astype(np.int64)
        return scores

    def _scored_at(self, slot: int) -> int:
        """The same for one slot: the same operations on floats of the same kind, so the same number."""
        cpus, cpus_used, memories, memories_used = self._cells
        cpu, memory = cpus[slot], memories[slot]
        if cpu <= 0 or memory <= 0:
            return int(_UNCHANGED * SCORE_MAX)
        cpu_used, memory_used = cpus_used[slot], memories_used[slot]
        before = _distance(cpu_used, cpu, memory_used, memory)
        after = _distance(cpu_used + self._asked[0], cpu, memory_used + self._asked[1], memory)
        return int((_UNCHANGED + (before - after) / 4) * SCORE_MAX)


def _distances(cpu: Ints, memory: Ints, room: tuple[Ints, Ints]) -> Any:
    return np.abs(np.minimum(cpu / room[0], 1.0) - np.minimum(memory / room[1], 1.0))


def _distance(cpu_used: int, cpu: int, memory_used: int, memory: int) -> float:
    """What is divided is at most AMOUNT_MAX: as integers it gives what it gives as floats."""
    of_cpu = cpu_used / cpu if cpu_used < cpu else 1.0
    of_memory = memory_used / memory if memory_used < memory else 1.0
    return abs(of_cpu - of_memory)

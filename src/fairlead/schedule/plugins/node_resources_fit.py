"""Room: what a pod requests must be free; emptier nodes, or fuller ones, are worth more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import SCORE_MAX, Lower, Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.nodes import Cells, Ints, Mask, Nodes
from fairlead.schedule.snapshot import Placed, Snapshot

LEAST, MOST = "LeastAllocated", "MostAllocated"
_EXACT = 2**40


class NodeResourcesFit:
    name: ClassVar[str] = "NodeResourcesFit"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"nodes", "pods.deleted"})
    evicting_helps: ClassVar[bool] = True
    concerns: ClassVar[tuple[str, ...]] = ("autoscaler", "user")

    def __init__(
        self, strategy: str = LEAST, weights: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 1))
    ) -> None:
        self._strategy, self._weights = strategy, weights

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        return _Room(snapshot.nodes, facts, self._strategy, self._weights)


class _Room:
    relative: ClassVar[bool] = False
    local: ClassVar[bool] = True

    def __init__(
        self, nodes: Nodes, facts: Facts, strategy: str, weights: tuple[tuple[str, int], ...]
    ) -> None:
        self._least = strategy == LEAST
        self._needs = [(name, value, *nodes.column(name)) for name, value in facts.requests.items() if value]
        # What a pod does not ask for says nothing about where it should go.
        asked = {**facts.requests, "cpu": facts.scored_cpu, "memory": facts.scored_memory}
        rated = [(name, weight) for name, weight in weights if asked.get(name) or name in ("cpu", "memory")]
        self._rated = [
            (weight, asked[name], nodes.column(name)[0], _taken(nodes, name)) for name, weight in rated
        ]
        self._rated_at = [
            (weight, asked[name], nodes.cells(name)[0], _taken_cells(nodes, name)) for name, weight in rated
        ]
        self._needs_at = [(value, *nodes.cells(name)) for name, value, _, _ in self._needs]
        self._mask = np.ones(nodes.slots, np.bool_)
        for _, value, allocatable, used in self._needs:
            self._mask &= allocatable - used >= value
        self._scores = self._scored(nodes.slots)

    def mask(self) -> Mask:
        return self._mask

    def reasons(self, slots: Ints) -> dict[str, int]:
        return self._lacking(slots, None)

    def _lacking(self, slots: Ints, lower: Lower | None) -> dict[str, int]:
        told: dict[str, int] = {}
        for name, value, allocatable, used in self._needs:
            room = allocatable[slots] - used[slots]
            if lower is not None:
                room = room + lower.used(name)[slots]
            lacking = int(np.count_nonzero(room < value))
            if lacking:
                told["Too many pods" if name == "pods" else f"Insufficient {name}"] = lacking
        return told

    def scores(self, open_slots: Mask) -> Ints:
        return self._scores

    def touched(self, change: OccupancyChange) -> bool:
        slot = change.slot
        fits = True
        for value, allocatable, used in self._needs_at:
            if allocatable[slot] - used[slot] < value:
                fits = False
                break
        self._mask[slot] = fits
        self._scores[slot] = self._scored_at(slot)
        return False

    def _scored(self, slots: int) -> Ints:
        """Per resource the share that is free, or taken, afterwards; resources that a node does not have do not
        count for it, and what is assumed of containers that do not say may be more than there is."""
        total, weight_of = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
        for weight, asked, room, used in self._rated:
            has = room > 0
            taken = np.minimum(used + asked, room)
            share = whole_parts((room - taken if self._least else taken) * SCORE_MAX, np.where(has, room, 1))
            total += np.where(has, share * weight, 0)
            weight_of += np.where(has, weight, 0)
        return whole_parts(total, np.maximum(weight_of, 1))

    def _scored_at(self, slot: int) -> int:
        """The same for one slot, in plain numbers: it is asked for after every placement."""
        total = weight_of = 0
        for weight, asked, rooms, used in self._rated_at:
            room = rooms[slot]
            if room > 0:
                taken = used[slot] + asked
                if taken > room:
                    taken = room
                total += (room - taken if self._least else taken) * SCORE_MAX // room * weight
                weight_of += weight
        return total // weight_of if weight_of else 0

    # Evicting

    def resolvable(self) -> Mask:
        mask = np.ones(len(self._mask), np.bool_)
        for _, value, allocatable, _ in self._needs:
            mask &= allocatable >= value
        return mask

    def reasons_without(self, slots: Ints, lower: Lower) -> dict[str, int]:
        return self._lacking(slots, lower)

    def hopeful(self, lower: Lower) -> Mask:
        mask = np.ones(len(self._mask), np.bool_)
        for name, value, allocatable, used in self._needs:
            mask &= allocatable - used + lower.used(name) >= value
        return mask

    def without(self, slot: int, removed: Sequence[Placed]) -> bool:
        for name, value, allocatable, used in self._needs:
            room = allocatable.item(slot) - used.item(slot)
            if room < value and room + sum(each.facts.requests.get(name, 0) for each in removed) < value:
                return False
        return True


def whole_parts(amounts: Ints, of: Ints) -> Ints:
    """amounts // of, for shares of at most a few thousand. Floats divide ten times as fast, and as long as a share
    times its divisor is below 2**52 the nearest float of a share that is not whole is not whole either."""
    if int(of.max(initial=0)) >= _EXACT:
        return amounts // of
    parts: Ints = (amounts / of).astype(np.int64)
    return parts


def _taken(nodes: Nodes, name: str) -> Ints:
    if name == "cpu":
        return nodes.scored_cpu
    return nodes.scored_memory if name == "memory" else nodes.column(name)[1]


def _taken_cells(nodes: Nodes, name: str) -> Cells:
    """`_taken`, slot by slot."""
    cpu, memory = nodes.scored_cells
    if name == "cpu":
        return cpu
    return memory if name == "memory" else nodes.cells(name)[1]

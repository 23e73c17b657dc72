"""Reservations: room that is kept for others is not free; a pod goes where room is kept for it.

A pod that names its reservation (annotation `fairlead.dev/reservation`) goes to that reservation's node and nowhere
else, while it is active. A pod whose controller owns one prefers its node.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fairlead.schedule.changes import OccupancyChange
from fairlead.schedule.contract import SCORE_MAX, Prepared
from fairlead.schedule.facts import Amounts, Facts
from fairlead.schedule.nodes import Ints, Mask, Nodes
from fairlead.schedule.snapshot import Snapshot


class Reservations:
    name: ClassVar[str] = "Reservations"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"reservations.fairlead.dev", "pods.deleted", "nodes"})
    evicting_helps: ClassVar[bool] = False
    concerns: ClassVar[tuple[str, ...]] = ("user", "autoscaler")

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        nodes = snapshot.nodes
        held: dict[int, Amounts] = {}
        own = np.zeros(nodes.slots, np.bool_)
        named = -1
        for node, kept in snapshot.holds.kept():
            slot = nodes.slot.get(node)
            if slot is None:
                continue
            for each in kept:
                if each.is_for(facts):
                    own[slot] = True
                    named = slot if each.name == facts.reservation else named
                else:
                    room = held.setdefault(slot, {})
                    for resource, value in each.room:
                        room[resource] = room.get(resource, 0) + value
        if not held and not own.any():
            return None
        return _Room(nodes, facts, held, own, named)


class _Room:
    relative: ClassVar[bool] = False

    def __init__(self, nodes: Nodes, facts: Facts, held: dict[int, Amounts], own: Mask, named: int) -> None:
        self._needs = [(name, value, *nodes.column(name)) for name, value in facts.requests.items() if value]
        self._held, self._named = held, named
        self._scores = own.astype(np.int64) * SCORE_MAX
        self._mask = np.full(nodes.slots, named < 0, np.bool_)
        if named >= 0:
            self._mask[named] = True
        for slot in held:
            self._look_at(slot)

    def mask(self) -> Mask:
        return self._mask

    def reasons(self, slots: Ints) -> dict[str, int]:
        elsewhere = sum(self._named >= 0 and int(slot) != self._named for slot in slots)
        told = {
            "node(s) were not those of the pod's reservation": elsewhere,
            "node(s) had room kept by reservations of others": len(slots) - elsewhere,
        }
        return {reason: number for reason, number in told.items() if number}

    def scores(self, open_slots: Mask) -> Ints:
        return self._scores

    def touched(self, change: OccupancyChange) -> bool:
        if change.slot in self._held:
            self._look_at(change.slot)
        return False

    def _look_at(self, slot: int) -> None:
        held = self._held[slot]
        free = all(
            room.item(slot) - used.item(slot) - held.get(name, 0) >= value
            for name, value, room, used in self._needs
        )
        self._mask[slot] = free and self._named in (-1, slot)

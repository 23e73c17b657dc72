"""Capacity classes of the policy: some nodes are kept for some pods, such as `recovery` for what a failover needs.

A pod may use a class's nodes if the policy allows it (every criterion that is given must hold), or where it uses a
reservation that was made in that class. So may pods of DaemonSets: each is made for one node, could wait for no other,
and a node that is kept needs what runs on every node. Nodes of no class are for everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairlead.model.selectors import LabelMatcher, from_object
from fairlead.model.views import Json
from fairlead.schedule.contract import Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.labels import where_label
from fairlead.schedule.nodes import Ints, Mask, Nodes
from fairlead.schedule.plugins.static import Static
from fairlead.schedule.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class CapacityClass:
    """`None` is what is not asked for; a class for which nothing is asked is for reservations alone."""

    name: str
    nodes: LabelMatcher
    namespaces: frozenset[str] | None = None
    pods: LabelMatcher | None = None
    priority_classes: frozenset[str] | None = None

    def allows(self, facts: Facts) -> bool:
        if facts.of_daemonset:
            return True
        if self.namespaces is None and self.pods is None and self.priority_classes is None:
            return False
        return (
            (self.namespaces is None or facts.namespace in self.namespaces)
            and (self.pods is None or self.pods.matches(facts.labels))
            and (self.priority_classes is None or facts.priority_class in self.priority_classes)
        )


def class_from(spec: Json) -> CapacityClass:
    """An entry of a SchedulingPolicy's spec.capacityClasses."""
    allowed = spec.get("allowed") or {}
    pods = allowed.get("podSelector")
    return CapacityClass(
        spec["name"],
        from_object(spec["nodeSelector"]),
        frozenset(allowed["namespaces"]) if allowed.get("namespaces") else None,
        from_object(pods) if pods is not None else None,
        frozenset(allowed["priorityClassNames"]) if allowed.get("priorityClassNames") else None,
    )


class CapacityClasses:
    name: ClassVar[str] = "CapacityClass"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"nodes", "reservations.fairlead.dev"})
    evicting_helps: ClassVar[bool] = False
    concerns: ClassVar[tuple[str, ...]] = ("user", "node-admin")

    def __init__(self, classes: Sequence[CapacityClass] = ()) -> None:
        self._classes = tuple(classes)

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        closed = [each for each in self._classes if not each.allows(facts)]
        if not closed:
            return None
        nodes = snapshot.nodes
        forbidden = [(each.name, _where(nodes, each) & ~_reserved(snapshot, facts, each)) for each in closed]
        mask = np.ones(nodes.slots, np.bool_)
        for _, where in forbidden:
            mask &= ~where

        def reasons(slots: Ints) -> dict[str, int]:
            """Each node once, by the first class that refuses it."""
            told: dict[str, int] = {}
            left = np.ones(len(slots), np.bool_)
            for name, where in forbidden:
                refused = left & where[slots]
                left &= ~refused
                if refused.any():
                    told[f"node(s) were kept for capacity class {name}"] = int(np.count_nonzero(refused))
            return told

        return Static(mask, reasons)


def _where(nodes: Nodes, each: CapacityClass) -> Mask:
    mask = nodes.present.copy()
    for requirement in each.nodes.requirements:
        mask &= where_label(nodes, requirement)
    return mask


def _reserved(snapshot: Snapshot, facts: Facts, each: CapacityClass) -> Mask:
    """Where such a pod has a reservation in this class."""
    mask = np.zeros(snapshot.nodes.slots, np.bool_)
    for node, kept in snapshot.holds.kept():
        slot = snapshot.nodes.slot.get(node)
        if slot is not None:
            mask[slot] = any(one.capacity_class == each.name and one.is_for(facts) for one in kept)
    return mask

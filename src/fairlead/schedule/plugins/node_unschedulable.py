"""Cordoned nodes take no pods, but for those that tolerate it."""

from __future__ import annotations

from typing import ClassVar

from fairlead.schedule.contract import Prepared
from fairlead.schedule.facts import Facts
from fairlead.schedule.nodes import Taint
from fairlead.schedule.plugins.static import Static, one_reason
from fairlead.schedule.plugins.taint_toleration import is_tolerated
from fairlead.schedule.snapshot import Snapshot

CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


class NodeUnschedulable:
    name: ClassVar[str] = "NodeUnschedulable"
    wakes_on: ClassVar[frozenset[str]] = frozenset({"nodes"})
    evicting_helps: ClassVar[bool] = False
    concerns: ClassVar[tuple[str, ...]] = ("node-admin",)

    def prepare(self, snapshot: Snapshot, facts: Facts) -> Prepared | None:
        cordoned = snapshot.nodes.unschedulable
        if not cordoned.any() or is_tolerated(CORDONED, facts.tolerations):
            return None
        return Static(~cordoned, one_reason("node(s) were unschedulable"))

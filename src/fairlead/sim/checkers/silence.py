"""What is made of a node's silence is judged by when its lease was really renewed, not by what an observer heard.

silence-is-real: a node is marked, and its pods are released, only if its lease had not been renewed for as long as the
policy asks. An observer that is cut off itself may do nothing to anybody.
"""

from __future__ import annotations

from typing import Any

from fairlead.ledger.evidence import NEVER
from fairlead.model.at_most_one import accepted_seconds
from fairlead.model.marks import NODE_LEASES, SUSPECT, UNREACHABLE
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.views import EVIDENCE_POLICIES, LEASES, NODES, PODS
from fairlead.reconcile.nodes.pod_marks import released_condition
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.releases import is_release
from fairlead.sim.violation import Violation

SLACK = 0.01  # instants are whole milliseconds


class Renewals:
    """When each node's lease was last renewed, and the deadline that each pod's status tells."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}
        self.deadlines: dict[str, float] = {}  # uid of a pod -> seconds after the last renewal

    def saw(self, sight: SeenChange) -> None:
        key = sight.key
        if key.resource == LEASES.name and key.namespace == NODE_LEASES and sight.after is not None:
            self.at[key.name] = sight.seconds
        elif key.resource == PODS.name and sight.after is not None:
            told = accepted_seconds(sight.after.status.conditions)
            if told is not None:
                self.deadlines[sight.after.metadata.uid] = told


class SilenceIsReal:
    name = "silence-is-real"
    sees = frozenset({LEASES.name, PODS.name, NODES.name, EVIDENCE_POLICIES.name})

    def __init__(self) -> None:
        self._renewals = Renewals()
        self._after: dict[str, float] = {}  # act -> seconds of silence it needs

    def saw(self, sight: SeenChange) -> None:
        self._renewals.saw(sight)
        resource, after = sight.key.resource, sight.after
        if resource == EVIDENCE_POLICIES.name and after is not None:
            self._after = {
                each["act"]: float(each.get("afterSeconds") or 0)
                for row in after.spec.get("rows") or ()
                if row.get("signal") == rows.MISSED_HEARTBEATS
                for each in row.get("acts") or ()
            }
        elif resource == NODES.name and after is not None:
            came = _marks(after) - _marks(sight.before)
            if came:
                act = rows.MARK_UNKNOWN if UNREACHABLE in came else rows.STOP_PLACEMENT
                self._judge(sight, sight.key.name, self._after.get(act, 0.0), f"was marked {sorted(came)}")
        elif resource == PODS.name and is_release(sight):
            node, needed = after.spec.node_name, self._after.get(rows.RELEASE, 0.0)
            condition = released_condition(after)
            if condition is not None and condition.reason == "NodeFenced":
                needed = self._renewals.deadlines.get(after.metadata.uid, NEVER)
            self._judge(sight, node, needed, f"lost its pod {sight.key.name}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _judge(self, sight: SeenChange, node: str, needed: float, what: str) -> None:
        silent = sight.seconds - self._renewals.at.get(node, 0.0)
        if silent < needed - SLACK:
            raise Violation(
                self.name,
                f"{node} {what} {silent:.1f} s after it renewed its lease; {needed:g} s are asked for",
            )


def _marks(node: Any) -> set[str]:
    if node is None:
        return set()
    marks = {str(each.get("key")) for each in node.spec.taints} & {SUSPECT, UNREACHABLE}
    if any(each.type == "Ready" and each.status == "Unknown" for each in node.status.conditions):
        marks.add(UNREACHABLE)
    return marks

"""Releases keep to the limits of their zone, and none happens while its brake is on.

Judged at the very revision of the release: the brake by the EvidencePolicy's status as committed, because a release
commits only while that stands. Releases that a human asked for (out of service, Node deleted) pass the brake and are
not counted.

The limit is one of nodes per minute. A release follows its grant, so of those that fall into one window one may have
been granted before it; and clocks of two planes may differ: two more than the limit are let pass, a third is not.
"""

from __future__ import annotations

from typing import Any

from fairlead.ledger import brake
from fairlead.ledger.evidence import zone_of
from fairlead.model.marks import UNREACHABLE
from fairlead.model.views import EVIDENCE_POLICIES, NODES, PODS
from fairlead.reconcile.nodes.pod_marks import released_condition
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_BRAKED = frozenset({"NodeSilent", "NodeFenced"})

_SPARE = 2


class ReleasesKeepLimits:
    name = "releases-keep-limits"
    sees = frozenset({EVIDENCE_POLICIES.name, NODES.name, PODS.name})

    def __init__(self) -> None:
        self._policy: Any = None
        self._zones: dict[str, str] = {}  # node -> zone
        self._marked: dict[str, str] = {}  # node -> when it was tainted: tells one silence from the next
        self._released: dict[str, dict[tuple[str, str], float]] = {}  # zone -> (node, silence) -> when

    def saw(self, sight: SeenChange) -> None:
        resource = sight.key.resource
        if resource == EVIDENCE_POLICIES.name:
            self._policy = sight.after
        elif resource == NODES.name and sight.after is not None:
            self._zones[sight.key.name] = zone_of(sight.after)
            times = [
                each.get("timeAdded", "")
                for each in sight.after.spec.taints
                if each.get("key") == UNREACHABLE
            ]
            self._marked[sight.key.name] = max(times, default="")
        elif resource == PODS.name and is_release(sight):
            self._judge(sight)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _judge(self, sight: SeenChange) -> None:
        node = sight.after.spec.node_name
        zone = self._zones.get(node, "")
        states = (
            {each.name: each.state for each in self._policy.status.zones} if self._policy is not None else {}
        )
        if states.get(zone, brake.STOPPED) == brake.STOPPED:
            raise Violation(self.name, f"{sight.key.name} was released while zone {zone} is stopped")
        seen = self._released.setdefault(zone, {})
        seen.setdefault((node, self._marked.get(node, "")), sight.seconds)
        recent = [at for at in seen.values() if at > sight.seconds - brake.WINDOW_SECONDS]
        limit = brake.limits_of(self._policy.spec).releases_per_minute
        if len(recent) > limit + _SPARE:
            raise Violation(
                self.name,
                f"pods of {len(recent)} nodes of zone {zone} were released in a minute, {limit:g} may be",
            )


def is_release(sight: SeenChange) -> bool:
    """A pod that counted and does not any more, because its node was silent."""
    if (
        sight.after is None
        or not sight.after.released
        or (sight.before is not None and sight.before.released)
    ):
        return False
    condition = released_condition(sight.after)
    return condition is not None and condition.reason in _BRAKED

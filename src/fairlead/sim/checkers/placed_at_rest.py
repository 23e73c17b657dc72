"""At rest no pod waits that fits: a wake-up that was lost is found here.

Judged with plain means: room, selectors, node affinity and taints; what Reservations keep is no room. Pods that look
at other pods (affinity, spread) and namespaces with a PlacementQuota are not judged, and a node with a taint that
repels counts as closed, as do those of capacity classes for all but pods of DaemonSets.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.model.policy import plane_knobs
from fairlead.model.policy.in_use import policy_in_use
from fairlead.model.selectors import LabelMatcher, from_object
from fairlead.model.views import (
    DAEMONSETS,
    NODES,
    PLACEMENT_QUOTAS,
    PLANE_SETTINGS,
    PODS,
    RESERVATIONS,
    SCHEDULING_POLICIES,
)
from fairlead.reconcile.daemonset.eligibility import is_repelled, is_selected
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.room import Amounts, add, describe_excess, parse_amounts, sum_requests
from fairlead.sim.violation import Violation


class PlacedAtRest:
    name = "placed-at-rest"
    sees: frozenset[str] = frozenset()

    def saw(self, sight: SeenChange) -> None:
        """Says nothing about the way to rest."""

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        pods = objects.of(PODS.name)
        limited = {key.namespace for key in objects.of(PLACEMENT_QUOTAS.name)}
        waiting = [(key, pod) for key, pod in pods.items() if _waits(pod) and key.namespace not in limited]
        if not waiting:
            return
        taken: dict[str, Amounts] = {}
        for pod in pods.values():
            # Room that was promised to another is not free.
            node = pod.spec.node_name or pod.status.nominated_node_name
            if node and not pod.finished:
                add(taken.setdefault(node, {}), sum_requests(pod))
        for each in objects.of(RESERVATIONS.name).values():
            if each.status.phase == "Active" and each.status.node_name:
                add(taken.setdefault(each.status.node_name, {}), parse_amounts(each.spec.requests))
        kept = _kept_nodes(objects)
        for key, pod in waiting:
            owner = pod.metadata.controller
            closed = kept if owner is None or owner.kind != DAEMONSETS.kind else []
            for node in objects.of(NODES.name).values():
                if any(each.matches(node.metadata.labels) for each in closed):
                    continue
                total = dict(taken.get(node.metadata.name, {}))
                add(total, sum_requests(pod))
                if _open(node, pod) and not describe_excess(total, parse_amounts(node.status.allocatable)):
                    raise Violation(
                        self.name, f"{key.name} has no node, and {node.metadata.name} has room for it"
                    )


def _kept_nodes(objects: CommittedObjects) -> list[LabelMatcher]:
    """Which nodes the policy in use keeps for some."""
    settings = objects.of(PLANE_SETTINGS.name).get(Key(PLANE_SETTINGS.name, "", plane_knobs.NAME))
    policies = objects.of(SCHEDULING_POLICIES.name)
    found = policy_in_use(settings, lambda name: policies.get(Key(SCHEDULING_POLICIES.name, "", name))).policy
    classes = (found.spec.get("capacityClasses") or ()) if found is not None else ()
    return [from_object(each["nodeSelector"]) for each in classes]


def _waits(pod: Any) -> bool:
    spec = pod.spec
    looks_at_others = spec.topology_spread_constraints or spec.affinity.keys() - {"nodeAffinity"}
    return pod.live and not (spec.node_name or spec.scheduling_gates or looks_at_others)


def _open(node: Any, pod: Any) -> bool:
    return (
        node.ready
        and not node.spec.unschedulable
        and not is_repelled(node.spec.taints, pod.spec.tolerations)
        and is_selected(pod.spec, node)
    )

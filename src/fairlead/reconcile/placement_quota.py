"""The PlacementQuota controller: has the use of a quota counted again when pods went or count again, or nodes changed
their labels.

Charging is done as pods are bound (`api/charging.py`); this is the way down. What it counts in its mirror tells only
that a count is due: the number that is written is counted by the server, on the quota's newest revision. So a mirror
that has not heard of a binding costs a look and loses nothing.

A pod's end concerns quotas its event does not name: it wakes the namespace's key (no name). A node's labels wake all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.decision.contract import EFFECTS_MAX, NOTHING, Decision, Reading
from fairlead.decision.effects import ChangeStatus
from fairlead.decision.ensure import ensure_status
from fairlead.decision.heeds import ENDED, GONE, PLACED, RELEASING, Heeds
from fairlead.ledger import quota as ledger
from fairlead.ledger.handover import holds_placement
from fairlead.model.views import (
    NODES,
    PLACEMENT_QUOTAS,
    PODS,
    Node,
    PlacementQuota,
    PlacementQuotaStatus,
    Pod,
    Resource,
    View,
)
from fairlead.store.contract import Key

_NAME = "placement-quota"
_ALL = Key(PLACEMENT_QUOTAS.name, "", "")


class PlacementQuotaDecider:
    name = _NAME
    reads: tuple[Resource[View], ...] = (PLACEMENT_QUOTAS, PODS, NODES)
    heeds: Heeds = ((PODS.name, ENDED | GONE | PLACED | RELEASING),)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        if isinstance(after, PlacementQuota):
            return (Key(PLACEMENT_QUOTAS.name, after.metadata.namespace, after.metadata.name),)
        if isinstance(before, Pod) and (
            (takes(before) and not takes(after)) or _holds(before) != _holds(after)
        ):
            return (Key(PLACEMENT_QUOTAS.name, before.metadata.namespace, ""),)
        return (_ALL,) if resource == NODES.name and _labels(before) != _labels(after) else ()

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        if key.name:
            found = view.get(PLACEMENT_QUOTAS, key.namespace, key.name)
            quotas = [] if found is None else [found]
        else:
            quotas = list(view.list(PLACEMENT_QUOTAS, key.namespace))
        if not quotas:
            return NOTHING
        effects = [effect for quota in quotas if (effect := _recounted(view, quota)) is not None]
        # Each write wakes its own quota only; those there was no room for are for the next turn.
        return Decision(
            effects=tuple(effects[:EFFECTS_MAX]), again_at=now if len(effects) > EFFECTS_MAX else 0.0
        )


def _recounted(view: Reading, quota: PlacementQuota) -> ChangeStatus | None:
    meta, spec, status = quota.metadata, quota.spec, quota.status
    if meta.deletion_timestamp:
        return None

    def labels_of(name: str) -> Mapping[str, str] | None:
        node = view.get(NODES, "", name)
        return None if node is None else node.metadata.labels

    used = ledger.taken(spec.node_selector, view.list(PODS, meta.namespace), labels_of)
    wanted = PlacementQuotaStatus(ledger.plus(spec.hard, used, {}), meta.generation, status.conditions)
    return ensure_status(_NAME, PLACEMENT_QUOTAS, quota, wanted)


def takes(pod: View | None) -> bool:
    """Whether a pod counts."""
    return isinstance(pod, Pod) and bool(pod.spec.node_name) and not pod.finished and holds_placement(pod)


def _holds(pod: View | None) -> bool:
    return not isinstance(pod, Pod) or holds_placement(pod)


def _labels(node: View | None) -> Mapping[str, str] | None:
    return node.metadata.labels if isinstance(node, Node) else None

"""The PlacementQuota controller: has the use of a quota counted again when pods went or count again, or nodes changed
their labels.

Charging is done as pods are bound (`api/charging.py`); this is the way down. What it counts in its mirror tells only
that a count is due: the number that is written is counted by the server, on the quota's newest revision. So a mirror
that has not heard of a binding costs a look and loses nothing.

A pod's end concerns quotas its event does not name: it wakes the namespace's key (no name). A node's labels wake all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.decision.contract import Decision, Reading, in_batches
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import ChangeStatus
from fairlead.decision.ensure import ensure_status
from fairlead.decision.predicates import ENDED, GONE, PLACED, PRESENT, RELEASING
from fairlead.decision.wakes import always, changed, itself, named_by
from fairlead.ledger import quota as ledger
from fairlead.ledger.handover import holds_placement
from fairlead.model.key import Key
from fairlead.model.views import (
    NODES,
    PLACEMENT_QUOTAS,
    PODS,
    Node,
    PlacementQuota,
    PlacementQuotaStatus,
    Pod,
    View,
)

_NAME = "placement-quota"
_ALL = Key(PLACEMENT_QUOTAS.name, "", "")


def placement_quota_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(PLACEMENT_QUOTAS, PODS, NODES),
        wakes=(
            Wake(PLACEMENT_QUOTAS, itself, when=PRESENT),
            Wake(PODS, _of_freed_pod, when=ENDED | GONE | PLACED | RELEASING, among=PLACEMENT_QUOTAS),
            Wake(NODES, changed(_labels, always(_ALL)), among=PLACEMENT_QUOTAS),
        ),
        decide=_decide,
    )


def _of_freed_pod(event: WatchEvent[Pod]) -> Iterable[Key]:
    """All quotas of its namespace, if a pod counts no more, or counts again."""
    before, after = event.before, event.after
    if before is None or not ((takes(before) and not takes(after)) or _holds(before) != _holds(after)):
        return ()
    return (Key(PLACEMENT_QUOTAS.name, event.key.namespace, ""),)


def _decide(view: Reading, key: Key, now: float) -> Decision:
    # Each write wakes its own quota only; those there was no room for are for the next turn.
    return in_batches((_recounted(view, each) for each in named_by(view, PLACEMENT_QUOTAS, key)), now)


def _recounted(view: Reading, quota: PlacementQuota) -> ChangeStatus | None:
    meta, spec, status = quota.metadata, quota.spec, quota.status
    if meta.deletion_timestamp:
        return None

    def labels_of(name: str) -> Mapping[str, str] | None:
        node = view.get(NODES, "", name)
        return None if node is None else node.metadata.labels

    used = ledger.sum_usage(spec.node_selector, view.list(PODS, meta.namespace), labels_of)
    wanted = PlacementQuotaStatus(
        ledger.add_usage(spec.hard, used, {}),
        meta.generation,
        status.conditions,
        ledger.list_borrowed(spec.cohort, spec.hard, used),
    )
    return ensure_status(_NAME, PLACEMENT_QUOTAS, quota, wanted)


def takes(pod: View | None) -> bool:
    """Whether a pod counts."""
    return isinstance(pod, Pod) and bool(pod.spec.node_name) and not pod.finished and holds_placement(pod)


def _holds(pod: View | None) -> bool:
    return not isinstance(pod, Pod) or holds_placement(pod)


def _labels(node: Node | None) -> Mapping[str, str] | None:
    return node.metadata.labels if node is not None else None

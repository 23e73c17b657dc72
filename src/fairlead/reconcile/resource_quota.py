"""The ResourceQuota controller: has the use of a quota counted again when something that it counts went or
counts again.

Charging is done as objects are created (`api/charging.py`); this is the way down, as in `placement_quota.py`: what the
mirrors say tells only that a count is due, and the server counts. Every deletion wakes the key of its namespace.
Objects of kinds that are not mirrored (custom ones beside another API) are not counted: what the status tells of them
stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.contract import Decision, Reading, in_batches
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import ChangeStatus
from fairlead.decision.ensure import ensure_status
from fairlead.decision.predicates import ENDED, GONE, PRESENT, RELEASING
from fairlead.decision.wakes import in_namespace, itself, named_by
from fairlead.ledger import quota as ledger
from fairlead.ledger import resource_quota
from fairlead.ledger.handover import holds_quota
from fairlead.ledger.pod_needs import Usage, add
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.key import Key
from fairlead.model.service_views import SERVICES, Service
from fairlead.model.views import (
    PODS,
    RESOURCE_QUOTAS,
    Pod,
    Resource,
    ResourceQuota,
    ResourceQuotaStatus,
    View,
)
from fairlead.reconcile.ownership import resources_of

_NAME = "resource-quota"


def resource_quota_decider(catalog: Catalog = CATALOG) -> Decider:
    """`catalog`: kinds may be added to it and taken from it; the controller is made anew for them."""
    counter = _Counter(catalog)
    reads = tuple(counter.resources.values())
    return Decider(
        name=_NAME,
        reads=reads,
        wakes=(
            Wake(RESOURCE_QUOTAS, itself, when=PRESENT),
            Wake(PODS, _of_pod, when=ENDED | RELEASING, among=RESOURCE_QUOTAS),
            *(Wake(each, in_namespace(RESOURCE_QUOTAS), when=GONE, among=RESOURCE_QUOTAS) for each in reads),
        ),
        decide=counter.decide,
        remade=lambda: resource_quota_decider(catalog),
    )


def _of_pod(event: WatchEvent[Pod]) -> Iterable[Key]:
    """All quotas of its namespace, if a pod counts no more, or counts again."""
    before, after = event.before, event.after
    if before is None or after is None:
        return ()
    counts_otherwise = (after.finished and not before.finished) or holds_quota(before) != holds_quota(after)
    return (Key(RESOURCE_QUOTAS.name, event.key.namespace, ""),) if counts_otherwise else ()


class _Counter:
    """Counts objects of the kinds that a catalog has as this is made."""

    def __init__(self, catalog: Catalog) -> None:
        spaced = {kind.resource for kind in catalog if kind.namespaced}
        known = {name: each for name, each in resources_of(catalog).items() if name in spaced}
        first: dict[str, Resource[View]] = {RESOURCE_QUOTAS.name: RESOURCE_QUOTAS}
        self.resources = {**first, **known, **first, PODS.name: PODS, SERVICES.name: SERVICES}

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        return in_batches((self._recounted(view, each) for each in named_by(view, RESOURCE_QUOTAS, key)), now)

    def _recounted(self, view: Reading, quota: ResourceQuota) -> ChangeStatus | None:
        spec = quota.spec
        if quota.metadata.deletion_timestamp:
            return None
        used = self._used(view, quota)
        counted = ledger.add_usage(spec.hard, used, {})
        for name in resource_quota.counted_resources(spec.hard):
            told = quota.status.used.get(f"count/{name}")
            if name not in self.resources and told is not None:
                counted[f"count/{name}"] = told
        wanted = ResourceQuotaStatus(spec.hard, counted)
        return ensure_status(_NAME, RESOURCE_QUOTAS, quota, wanted)

    def _used(self, view: Reading, quota: ResourceQuota) -> Usage:
        spec, space = quota.spec, quota.metadata.namespace
        total: Usage = {}
        if resource_quota.is_about(spec.hard, PODS.name):
            total = resource_quota.counted_pods(spec, view.list(PODS, space))
        if resource_quota.is_scoped(spec):
            return total
        for name in resource_quota.counted_resources(spec.hard):
            resource = self.resources.get(name)
            if resource is None:
                continue
            for each in view.list(resource, space):
                counted = (
                    resource_quota.usage_of_service(each.spec)
                    if isinstance(each, Service)
                    else resource_quota.usage_of_any(name)
                )
                add(total, counted)
        return total

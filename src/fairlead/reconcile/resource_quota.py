"""The ResourceQuota controller: has the use of a quota counted again when something that it counts went or
counts again.

Charging is done as objects are created (`api/charging.py`); this is the way down, as in `placement_quota.py`: what the
mirrors say tells only that a count is due, and the server counts. Every deletion wakes the key of its namespace.
Objects of kinds that are not mirrored (custom ones beside another API) are not counted: what the status tells of them
stays.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.contract import EFFECTS_MAX, NOTHING, Decision, Reading
from fairlead.decision.effects import ChangeStatus
from fairlead.decision.ensure import ensure_status
from fairlead.decision.heeds import ENDED, GONE, RELEASING, Heeds
from fairlead.ledger import quota as ledger
from fairlead.ledger import resource_quota
from fairlead.ledger.handover import holds_quota
from fairlead.ledger.pod_needs import Usage, add
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.views import (
    LEASES,
    PODS,
    RESOURCE_QUOTAS,
    Pod,
    Resource,
    ResourceQuota,
    ResourceQuotaStatus,
    Stored,
    View,
)
from fairlead.reconcile.ownership import key_of, resources_of
from fairlead.store.contract import Key

_NAME = "resource-quota"
_NOTHING_SAID = b"{}"


class ResourceQuotaDecider:
    name = _NAME
    heeds: Heeds = ((PODS.name, ENDED | GONE | RELEASING), (LEASES.name, GONE))

    def __init__(self, catalog: Catalog = CATALOG) -> None:
        self._catalog = catalog
        self.kinds_changed()

    def kinds_changed(self) -> None:
        """The catalog has other kinds than before."""
        spaced = {kind.resource for kind in self._catalog if kind.namespaced}
        known = {name: each for name, each in resources_of(self._catalog).items() if name in spaced}
        self._resources: dict[str, Resource[View]] = {
            RESOURCE_QUOTAS.name: RESOURCE_QUOTAS,
            **known,
            PODS.name: PODS,
        }
        self._resources[RESOURCE_QUOTAS.name] = RESOURCE_QUOTAS
        self.reads: tuple[Resource[View], ...] = tuple(self._resources.values())

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        if isinstance(after, ResourceQuota):
            return (Key(RESOURCE_QUOTAS.name, after.metadata.namespace, after.metadata.name),)
        changed = isinstance(before, Pod) and isinstance(after, Pod) and _counts_otherwise(before, after)
        if before is not None and (after is None or changed):
            return (Key(RESOURCE_QUOTAS.name, key_of(resource, before).namespace, ""),)
        return ()

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        if key.name:
            found = view.get(RESOURCE_QUOTAS, key.namespace, key.name)
            quotas = [] if found is None else [found]
        else:
            quotas = list(view.list(RESOURCE_QUOTAS, key.namespace))
        if not quotas:
            return NOTHING
        effects = [effect for quota in quotas if (effect := self._recounted(view, quota)) is not None]
        return Decision(
            effects=tuple(effects[:EFFECTS_MAX]), again_at=now if len(effects) > EFFECTS_MAX else 0.0
        )

    def _recounted(self, view: Reading, quota: ResourceQuota) -> ChangeStatus | None:
        spec = quota.spec
        if quota.metadata.deletion_timestamp:
            return None
        used = self._used(view, quota)
        counted = ledger.plus(spec.hard, used, {})
        for name in resource_quota.counted_resources(spec.hard):
            told = quota.status.used.get(f"count/{name}")
            if name not in self._resources and told is not None:
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
            resource = self._resources.get(name)
            if resource is None:
                continue
            for each in view.list(resource, space):
                data = each.data if isinstance(each, Stored) else _NOTHING_SAID
                add(total, resource_quota.usage_of_object(name, data))
        return total


def _counts_otherwise(before: Pod, after: Pod) -> bool:
    return (after.finished and not before.finished) or holds_quota(before) != holds_quota(after)

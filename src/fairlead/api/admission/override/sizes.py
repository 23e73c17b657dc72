"""The sizes that a SchedulerOverride keeps, as they are when it is made. Asked by `steps.py`.

A workload that the override names must ask for as many when the override is committed: otherwise one that was scaled at
the same time would be kept at a size that it had left. Those of a wider target need not: of hundreds one always changes
its status, and the override would be planned again until it is refused.
"""

from __future__ import annotations

import msgspec

from fairlead.api.admission.override.sight import readable
from fairlead.api.attempt import Attempt
from fairlead.ledger import override as ledger
from fairlead.model.kind import Json
from fairlead.model.kinds import scheduleroverride as kinds
from fairlead.model.views import DEPLOYMENTS, REPLICASETS, STATEFULSETS, ReplicaSet, SchedulerOverride
from fairlead.store.contract import AtRevision

_sized = msgspec.json.Decoder(ReplicaSet).decode  # of any kind with spec.replicas


def sizes_of(attempt: Attempt, wanted: SchedulerOverride, replaced: SchedulerOverride | None) -> list[Json]:
    """What the workloads that it covers ask for; of those that the one before it holds, what they asked for then."""
    before = {each.uid: each.replicas for each in replaced.status.held} if replaced is not None else {}
    is_named = kinds.split(wanted.spec.target)[0] in kinds.WORKLOADS
    found = []
    for resource in (DEPLOYMENTS, STATEFULSETS, REPLICASETS):
        for entry in readable(attempt, resource.name):
            each = _sized(entry.data)
            meta = each.metadata
            names = ledger.names_of(meta, resource.kind.lower())
            if (resource is REPLICASETS and meta.controller is not None) or not ledger.covers(
                wanted, meta.namespace, names
            ):
                continue
            if is_named:
                attempt.preconditions.append(AtRevision(entry.key, entry.revision))
            about = {"kind": resource.kind, "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}
            found.append({**about, "replicas": before.get(meta.uid, each.spec.replicas)})
    return found

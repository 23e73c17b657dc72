"""Lease (coordination.k8s.io/v1): who holds something, and until when.

Read by `model/catalog.py`. Nodes and leaders renew theirs every few seconds, so renewals are heartbeats that
audit counts instead of recording.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Column, Json, Kind
from fairlead.model.kinds.workload import check_counters, part
from fairlead.model.marks import USAGE

_VOLATILE = ("resourceVersion", "managedFields")


def _validate(obj: Json, problems: Problems) -> None:
    spec = part(obj, "spec")
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        problems.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    check_counters(spec, ("leaseTransitions",), "spec", problems)
    if spec.get("preferredHolder") and not spec.get("strategy"):
        problems.forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


def _heartbeat(new: Json, old: Json) -> bool:
    """A renewal: the time moved on and nothing else changed."""
    spec, before = part(new, "spec"), part(old, "spec")
    if spec.get("renewTime") == before.get("renewTime"):
        return False
    if {**spec, "renewTime": None} != {**before, "renewTime": None}:
        return False
    metadata, metadata_before = part(new, "metadata"), part(old, "metadata")
    if metadata == metadata_before:
        return True
    names = (metadata.keys() | metadata_before.keys()) - set(_VOLATILE)
    return all(_lasting(metadata, name) == _lasting(metadata_before, name) for name in names)


def _lasting(metadata: Json, name: str) -> object:
    """What a node tells of its usage is new with each renewal."""
    found = metadata.get(name)
    if name != "annotations":
        return found
    return {key: value for key, value in (found or {}).items() if key != USAGE}


KIND = Kind(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    namespaced=True,
    schema="Lease",
    generation=False,
    columns=(
        Column("Holder", lambda obj, now: part(obj, "spec").get("holderIdentity") or ""),
        AGE,
    ),
    validate=_validate,
    heartbeat=_heartbeat,
)

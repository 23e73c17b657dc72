"""Whom a refused object waits for: one reason and one owner for each kind of object that may lift a refusal.

An API refusal names the objects (`core/errors.py`, `lifted_by`). The record of a decision, the conditions of workloads,
`status.progress` and `fairlead explain` all take reason and owner from here, so that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.catalog import CATALOG

WAITING_FOR = (
    "fairlead.dev/WaitingFor"  # condition of a workload: what must change before its pods can be made
)
REFUSED = "EffectRefused"  # the reason where nobody says what would have to change
_PREFIX = "WaitingFor"
_OWNERS = {
    "ResourceQuota": "quota-admin",
    "PlacementQuota": "quota-admin",
    "LimitRange": "quota-admin",
    "PriorityClass": "cluster-admin",
}
QUOTA_REASONS = frozenset({"WaitingForResourceQuota", "WaitingForPlacementQuota"})


def waiting_reason(addresses: Sequence[str]) -> str:
    """Of a refusal that these objects may lift (RESOURCE/NAMESPACE/NAME): the kind of the first."""
    kind = CATALOG.of_resource(addresses[0].partition("/")[0]) if addresses else None
    return f"{_PREFIX}{kind.kind}" if kind is not None else REFUSED


def waiting_owner(reason: str) -> str:
    """Who can do something about it."""
    return _OWNERS.get(reason.removeprefix(_PREFIX), "user")

"""Whether the proxies of nodes follow the weights of zones that an override sets. Asked by its controller. Pure.

The controller of slices notes the weights in the slices of each Service that they are for (`ledger/zone_weights.py`).
The agent of a node tells with the renewals of its lease whose weights its routes follow (`PROXY_FOLLOWS`), so a proxy
that has not heard, or whose node is silent, is known by name. Hollow nodes have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.decision.contract import Reading
from fairlead.ledger import zone_weights
from fairlead.model.marks import DRIVER, NODE_LEASES, PROXY_FOLLOWS
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES, EndpointSlice
from fairlead.model.views import LEASES, NODES, Lease, SchedulerOverride

NAME = "node-proxies"  # of their condition, where those of controllers have the controller's
SLICES = "endpoint-slices"  # who notes the weights
_HOLLOW = "hollow"
_NAMED = 3  # nodes in a message; the rest is counted


class Following(NamedTuple):
    is_observed: bool
    reason: str
    message: str


def weighs(override: SchedulerOverride) -> bool:
    return bool(override.spec.changes.traffic_weights)


def follows_of(lease: Lease | None) -> object:
    """What of a lease makes a difference here: not that it was renewed."""
    return lease.metadata.annotations.get(PROXY_FOLLOWS) if lease is not None else None


def note_of(found: EndpointSlice | None) -> object:
    return found.metadata.annotations.get(zone_weights.NOTE) if found is not None else None


def following(view: Reading, override: SchedulerOverride) -> Following:
    uid = override.metadata.uid
    if not any(each.uid == uid for each in _noted(view.list(ENDPOINT_SLICES))):
        told = view.first_turns(uid).get(SLICES)
        concerned = any(
            zone_weights.may_weigh(override, each.metadata.namespace) for each in view.list(SERVICES)
        )
        if concerned and (told is None or not told.decision):
            return Following(False, "NotObserved", f"not yet told by {SLICES}")
        return Following(True, "NothingToFollow", "no Service of its target has endpoints")
    nodes = [each for each in view.list(NODES) if each.metadata.labels.get(DRIVER) != _HOLLOW]
    names = [each.metadata.name for each in nodes]
    missing = [name for name in names if uid not in _follows(view.get(LEASES, NODE_LEASES, name))]
    if not missing:
        return Following(True, "Observed", f"by the proxies of {len(names)} nodes")
    shown = ", ".join(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" if missing[_NAMED:] else "")
    return Following(False, "NotObserved", f"not by {len(missing)} of {len(names)} nodes: {shown}")


def _noted(slices: Iterable[EndpointSlice]) -> Iterable[zone_weights.ZoneWeights]:
    found = (zone_weights.noted(each.metadata.annotations) for each in slices)
    return (each for each in found if each is not None)


def _follows(lease: Lease | None) -> list[str]:
    return str(follows_of(lease) or "").split(",")

"""Weights of zones: what an override says of a Service's traffic, and the note of it that its slices carry. Pure.

The controller of slices (`reconcile/services/endpoint_slices.py`) writes the note, the proxy of every node
(`agent/services.py`) reads it. It carries its end, which the node judges by its own clock: traffic is shared as before
from then on also where no plane is there to take the note away. So a write of it rests on no premise.

A weight is that of each endpoint in the zone: with 100 everywhere all take turns as without an override.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from fairlead.core.times import parse_time
from fairlead.ledger import override as ledger
from fairlead.model.kinds.scheduleroverride import CLUSTER, NAMED_MAX, NAMESPACE, WEIGHT_MAX, split
from fairlead.model.views import SchedulerOverride

NOTE = "fairlead.dev/zone-weights"  # annotation of an EndpointSlice


class ZoneWeights(msgspec.Struct, frozen=True):
    weights: dict[str, int]
    until: str
    by: str = ""  # the override: NAMESPACE/NAME
    uid: str = ""  # its uid, which a node tells back that follows it

    def of(self, zone: str) -> int:
        """A zone that is not named, and what is in none, has the most."""
        return max(0, min(self.weights.get(zone, WEIGHT_MAX), WEIGHT_MAX))


_read = msgspec.json.Decoder(ZoneWeights).decode
_write = msgspec.json.Encoder(order="sorted").encode


def weighing(
    overrides: Iterable[SchedulerOverride], namespace: str, names: Iterable[ledger.Name], now: float
) -> SchedulerOverride | None:
    """Whose weights hold for a Service with pods of these workloads. Of several, each of another workload behind it,
    the one that was there first."""
    names = tuple(names)
    found = [
        each
        for each in ledger.active(overrides, now)
        if each.spec.changes.traffic_weights and ledger.covers(each, namespace, names)
    ]
    return min(found, key=lambda each: (each.metadata.creation_timestamp, each.metadata.uid), default=None)


def may_weigh(override: SchedulerOverride, namespace: str) -> bool:
    """Whether Services of this namespace may be of its target, whatever they select."""
    sort, name = split(override.spec.target)
    own = (name if sort == NAMESPACE else "") or override.metadata.namespace
    return bool(override.spec.changes.traffic_weights) and (sort == CLUSTER or own == namespace)


def weights_of(override: SchedulerOverride) -> ZoneWeights:
    weights = {each.zone: each.weight for each in override.spec.changes.traffic_weights}
    return ZoneWeights(weights, override.spec.expires_at, ledger.mark_of(override), override.metadata.uid)


def note_of(weights: ZoneWeights) -> str:
    """The same text for the same weights."""
    return _write(weights).decode()


def noted(annotations: Mapping[str, str]) -> ZoneWeights | None:
    """What a slice says. One that cannot be read, which the controller did not write, says nothing."""
    text = annotations.get(NOTE)
    if not text:
        return None
    try:
        found = _read(text)
        parse_time(found.until)
    except (msgspec.MsgspecError, ValueError):
        return None
    return found if len(found.weights) <= NAMED_MAX else None


def load_on(weights: ZoneWeights, zones: Iterable[str]) -> tuple[float, str]:
    """How many times its new connections the endpoint gets that gets most, and its zone; `zones`: one of each that is
    ready. 0.0: nobody gets any, and the weights are not followed."""
    shares = [(weights.of(zone), zone) for zone in zones]
    most, zone = max(shares, default=(0, ""))
    return (most * len(shares) / sum(share for share, _ in shares), zone) if most else (0.0, "")


def leaves_none(weights: ZoneWeights, zones: Iterable[str]) -> bool:
    """Whether somebody is ready, in these zones, and the weights would send connections to none of them: then they
    are not followed."""
    shares = [weights.of(zone) for zone in zones]
    return bool(shares) and not any(shares)

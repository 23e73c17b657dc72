"""The load that the weights of zones of a SchedulerOverride put on the endpoints that are left, by Service. Asked by
`reach.py`.

Counted are endpoints that are ready now, as the slices of Services tell, of Services that have one of a pod of the
target. Of ten endpoints of which nine are in the zone that gets nothing, the tenth gets ten times its new connections.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from fairlead.api.admission.override.sight import readable, readable_one
from fairlead.api.attempt import Attempt
from fairlead.ledger import override as ledger
from fairlead.ledger import zone_weights
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.pod_decoder import decode_pod
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICE_NAME, EndpointSlice
from fairlead.model.views import PODS, SchedulerOverride

_slice = msgspec.json.Decoder(EndpointSlice).decode


def loads_of(attempt: Attempt, wanted: SchedulerOverride) -> Iterator[tuple[str, str, float]]:
    """Of each Service that it weighs: its name, the zone that gets most, and how many times what it gets without it.
    A Service none of whose ready endpoints would get anything is warned of: its weights are not followed."""
    if not wanted.spec.changes.traffic_weights:
        return
    weights = zone_weights.weights_of(wanted)
    for service, endpoints in sorted(_endpoints(attempt, wanted).items()):
        if not any(_is_covered(attempt, wanted, each) for each in endpoints):
            continue
        load, zone = zone_weights.load_on(weights, (each.get("zone") or "" for each in endpoints))
        if not load:
            attempt.warnings.append(
                f"no ready endpoint of Service {service} is in a zone with a weight above 0: until one is, its"
                " traffic goes to all that are ready"
            )
        yield service, zone, load


def _endpoints(attempt: Attempt, wanted: SchedulerOverride) -> dict[str, list[Json]]:
    """Those that are ready, by Service; two slices may tell of one while it moves."""
    found: dict[str, dict[tuple[str, ...], Json]] = {}
    for entry in readable(attempt, ENDPOINT_SLICES.name):
        if not zone_weights.may_weigh(wanted, entry.key.namespace):
            continue
        each = _slice(entry.data)
        service = f"{entry.key.namespace}/{each.metadata.labels.get(SERVICE_NAME, '')}"
        for endpoint in each.endpoints:
            if (endpoint.get("conditions") or {}).get("ready") is not False:
                found.setdefault(service, {})[tuple(endpoint.get("addresses") or ())] = endpoint
    return {service: list(endpoints.values()) for service, endpoints in found.items()}


def _is_covered(attempt: Attempt, wanted: SchedulerOverride, endpoint: Json) -> bool:
    about = endpoint.get("targetRef") or {}
    if about.get("kind") != "Pod":
        return False
    entry = readable_one(attempt, Key(PODS.name, about.get("namespace") or "", about.get("name") or ""))
    if entry is None:
        return False
    meta = decode_pod(entry.data).metadata
    return ledger.covers(wanted, meta.namespace, ledger.names_of_owner(meta))

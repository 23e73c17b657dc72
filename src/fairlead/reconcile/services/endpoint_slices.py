"""EndpointSlices: the addresses of the pods behind each Service, as in Kubernetes.

    Service with a selector   slices NAME-xxxxx, owned by it, at most SLICE_ENDPOINTS_MAX endpoints each
    pod                       an endpoint, once it has an address, until it has ended
                              serving: ready and not released; terminating: its deletion was asked for
                              ready: serving and not terminating, or publishNotReadyAddresses
    no pod                    one slice without endpoints

What the slices should be is in `endpoints.py`, how that is fitted to those there are in `layout.py`. A
slice's name follows from the Service's uid and a number, the lowest whose name is free. Slices that others made for
the Service, and those of a Service whose selector was removed, are left as they are. Slices that a Service of the same
name left behind (`--cascade=orphan`) are taken over: their endpoints would be used for ever.

A pod's change wakes the Services whose selectors match its labels, before or after, found by an index that is kept for
as long as the Services of its namespace do not change; a change that no slice can show wakes nobody.

While a SchedulerOverride weighs the zones of a workload behind the Service, each of its slices carries a note of that
(`ledger/zone_weights.py`), which proxies follow until its end. Weights that would leave nobody who is ready are told as
a warning at the override: proxies do not follow them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import structs

from fairlead.decision.contract import (
    EFFECTS_MAX,
    NOTHING,
    SETTLED,
    Decision,
    EventNote,
    Reading,
    Verdict,
    Waiting,
)
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Effect, premise_of
from fairlead.decision.ensure import ensure_child, ensure_fields, ensure_gone
from fairlead.decision.notes import WARNING, regarding_of
from fairlead.decision.predicates import ADDRESSED
from fairlead.decision.wakes import by_controller, changed, itself
from fairlead.ledger import override as ledger
from fairlead.ledger import zone_weights
from fairlead.model.key import Key
from fairlead.model.marks import ZONE
from fairlead.model.service_views import (
    ENDPOINT_SLICES,
    MANAGED_BY,
    SERVICE_NAME,
    SERVICES,
    SLICE_CONTROLLER,
    EndpointSlice,
    Service,
)
from fairlead.model.views import NODES, OVERRIDES, PODS, Json, Node, Pod, SchedulerOverride, View
from fairlead.reconcile.children import child_name, controller_reference, is_controlled_by
from fairlead.reconcile.services.endpoints import Groups, group_endpoints, labels_of, visible_parts
from fairlead.reconcile.services.layout import Layout, laid_out
from fairlead.reconcile.services.selectors import ServiceSelectors

_NAME = "endpoint-slices"


def endpoint_slice_decider() -> Decider:
    """A pod wakes the Services that select it; a node whose zone changed those of its pods; an override that weighs
    zones those that may be of its target, as it comes, goes and is approved."""
    selectors = ServiceSelectors()

    def selecting(event: WatchEvent[View], pods: Iterable[View | None]) -> Iterable[Key]:
        found: dict[Key, None] = {}
        for pod in pods:
            if isinstance(pod, Pod) and pod.metadata.labels:
                meta = pod.metadata
                for name in selectors.matching(event.view, meta.namespace, meta.labels):
                    found[Key(SERVICES.name, meta.namespace, name)] = None
        return found

    def of_pod(event: WatchEvent[Pod]) -> Iterable[Key]:
        return selecting(event, (event.before, event.after))

    def of_node(event: WatchEvent[Node]) -> Iterable[Key]:
        return selecting(event, event.view.on_node(event.key.name))

    return Decider(
        name=_NAME,
        reads=(SERVICES, ENDPOINT_SLICES, PODS, NODES, OVERRIDES),
        wakes=(
            Wake(SERVICES, itself),
            Wake(ENDPOINT_SLICES, by_controller(SERVICES)),
            Wake(PODS, changed(visible_parts, of_pod), when=ADDRESSED, among=SERVICES),
            Wake(NODES, changed(_zone, of_node), among=SERVICES),
            Wake(OVERRIDES, changed(_holds, _of_override), among=SERVICES),
        ),
        decide=_decide,
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
    service = view.get(SERVICES, key.namespace, key.name)
    if service is None or service.metadata.deletion_timestamp:
        return NOTHING  # its slices go with it
    present = _present(view, service)
    if service.spec.type == "ExternalName":
        return _decision([gone for each in present if (gone := _delete(service, each)) is not None])
    if not service.spec.selector:
        return NOTHING
    if any(each.metadata.deletion_timestamp for each in present):
        return Decision(Waiting("SliceIsBeingDeleted"))
    pods = view.select(PODS, key.namespace, {"matchLabels": service.spec.selector})
    wanted = group_endpoints(service, pods, lambda node: _zone(view.get(NODES, "", node)))
    override = _weighing(view, key.namespace, pods, now)
    weights = zone_weights.weights_of(override) if override is not None else None
    note = zone_weights.note_of(weights) if weights is not None else None
    decision = _decision(_effects(view, service, laid_out(wanted, present), note))
    if override is None or weights is None:
        return decision
    decision = structs.replace(decision, again_at=ledger.end_of(override))
    if not zone_weights.leaves_none(weights, _ready_zones(wanted)):
        return decision
    told = (
        f"the zones with a weight above 0 have no ready endpoint of Service {key.name}: "
        "its traffic goes to all that are ready"
    )
    occasion = f"{override.metadata.uid}/{service.metadata.uid}"
    event = EventNote(
        regarding_of(OVERRIDES, override.metadata), WARNING, "WeightsNotFollowed", told, occasion=occasion
    )
    return structs.replace(decision, verdict=Waiting("WeightsNotFollowed", told), events=(event,))


def _weighing(view: Reading, namespace: str, pods: Iterable[Pod], now: float) -> SchedulerOverride | None:
    overrides = view.list(OVERRIDES)
    if not any(zone_weights.may_weigh(each, namespace) for each in overrides):
        return None
    names = {name for pod in pods for name in ledger.names_of_owner(pod.metadata)}
    return zone_weights.weighing(overrides, namespace, names, now)


def _holds(override: SchedulerOverride | None) -> object:
    """What of an override makes a difference here: nothing of its spec ever changes."""
    if override is None or not override.spec.changes.traffic_weights:
        return None
    return override.metadata.uid, ledger.is_approved(override)


def _of_override(event: WatchEvent[SchedulerOverride]) -> Iterable[Key]:
    return [
        Key(SERVICES.name, each.metadata.namespace, each.metadata.name)
        for each in event.view.list(SERVICES)
        if zone_weights.may_weigh(event.newest, each.metadata.namespace)
    ]


def _ready_zones(wanted: Groups) -> set[str]:
    """Of the endpoints that are ready; "" is that of nodes without one."""
    return {
        each.get("zone", "")
        for endpoints in wanted.values()
        for each in endpoints.values()
        if each["conditions"]["ready"]
    }


def _present(view: Reading, service: Service) -> list[EndpointSlice]:
    """Its own, and those that a Service of the same name left behind: who looks for endpoints goes by the label."""
    meta = service.metadata
    label = {SERVICE_NAME: meta.name, MANAGED_BY: SLICE_CONTROLLER}
    own = [
        found
        for found in view.owned(ENDPOINT_SLICES, meta.uid, meta.namespace)
        if is_controlled_by(found, meta)
        and found.metadata.labels.get(MANAGED_BY, SLICE_CONTROLLER) == SLICE_CONTROLLER
    ]
    labelled = view.select(ENDPOINT_SLICES, meta.namespace, {"matchLabels": label})
    left = [found for found in labelled if found.metadata.controller is None]
    return [found for found in (*own, *left) if found.address_type == "IPv4"]


def _zone(node: Node | None) -> str:
    return node.metadata.labels.get(ZONE, "") if node is not None else ""


def _decision(effects: Sequence[Effect]) -> Decision:
    verdict: Verdict = Waiting("WritingSlices") if effects else SETTLED
    return Decision(verdict, tuple(effects[:EFFECTS_MAX]))


def _effects(view: Reading, service: Service, layout: Layout, note: str | None) -> list[Effect]:
    """First what shows new or changed endpoints, then what is left over goes. `note`: of the weights that hold."""
    meta, labels = service.metadata, labels_of(service)
    premises = (premise_of(SERVICES, meta),)
    effects: list[Effect | None] = []
    for found, content in layout.kept:
        removed = dict.fromkeys(found.metadata.labels.keys() - labels.keys())
        current: Json = {
            "metadata": {"labels": found.metadata.labels, "annotations": _note(found)},
            "endpoints": list(found.endpoints),
            "ports": list(found.ports),
        }
        annotations = {zone_weights.NOTE: note} if note is not None or _note(found) else {}
        fields: Json = {
            "metadata": {"labels": {**labels, **removed}, "annotations": annotations},
            **content,
        }
        if found.metadata.controller is None:
            fields["metadata"]["ownerReferences"] = [controller_reference(SERVICES, meta)]
        effects.append(
            ensure_fields(
                _NAME,
                meta,
                ENDPOINT_SLICES,
                found,
                intent="fill",
                current=current,
                wanted=fields,
                premises=premises,
            )
        )
    number = 0
    for content in layout.new:
        while view.get(ENDPOINT_SLICES, meta.namespace, child_name(meta, str(number))) is not None:
            number += 1
        body: Json = {
            "metadata": {
                "name": child_name(meta, str(number)),
                "labels": labels,
                "ownerReferences": [controller_reference(SERVICES, meta)],
            },
            "addressType": "IPv4",
            **content,
        }
        if note is not None:
            body["metadata"]["annotations"] = {zone_weights.NOTE: note}
        effects.append(ensure_child(_NAME, meta, ENDPOINT_SLICES, None, body, str(number), premises))
        number += 1
    effects.extend(_delete(service, each) for each in layout.surplus)
    return [effect for effect in effects if effect is not None]


def _note(found: EndpointSlice) -> dict[str, str]:
    text = found.metadata.annotations.get(zone_weights.NOTE)
    return {zone_weights.NOTE: text} if text is not None else {}


def _delete(service: Service, found: EndpointSlice) -> Effect | None:
    premises = (premise_of(SERVICES, service.metadata),)
    return ensure_gone(_NAME, service.metadata, ENDPOINT_SLICES, found, premises=premises)

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
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Decision, Reading, Verdict, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Effect, premise_of
from fairlead.decision.ensure import ensure_child, ensure_fields, ensure_gone
from fairlead.decision.wakes import by_controller, changed, itself
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
from fairlead.model.views import NODES, PODS, Json, Node, Pod, View
from fairlead.reconcile.children import child_name, controller_reference, is_controlled_by
from fairlead.reconcile.services.endpoints import group_endpoints, labels_of, visible_parts
from fairlead.reconcile.services.layout import Layout, laid_out
from fairlead.reconcile.services.selectors import ServiceSelectors

_NAME = "endpoint-slices"


def endpoint_slice_decider() -> Decider:
    """A pod wakes the Services that select it; a node whose zone changed those of its pods."""
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
        reads=(SERVICES, ENDPOINT_SLICES, PODS, NODES),
        wakes=(
            Wake(SERVICES, itself),
            Wake(ENDPOINT_SLICES, by_controller(SERVICES)),
            Wake(PODS, changed(visible_parts, of_pod), among=SERVICES),
            Wake(NODES, changed(_zone, of_node), among=SERVICES),
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
    return _decision(_effects(view, service, laid_out(wanted, present)))


def _present(view: Reading, service: Service) -> list[EndpointSlice]:
    """Its own, and those that a Service of the same name left behind: who looks for endpoints goes by the label."""
    meta = service.metadata
    label = {SERVICE_NAME: meta.name, MANAGED_BY: SLICE_CONTROLLER}
    own = [
        found
        for found in view.owned(ENDPOINT_SLICES, meta.uid)
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


def _effects(view: Reading, service: Service, layout: Layout) -> list[Effect]:
    """First what shows new or changed endpoints, then what is left over goes."""
    meta, labels = service.metadata, labels_of(service)
    premises = (premise_of(SERVICES, meta),)
    effects: list[Effect | None] = []
    for found, content in layout.kept:
        removed = dict.fromkeys(found.metadata.labels.keys() - labels.keys())
        current: Json = {
            "metadata": {"labels": found.metadata.labels},
            "endpoints": list(found.endpoints),
            "ports": list(found.ports),
        }
        fields: Json = {"metadata": {"labels": {**labels, **removed}}, **content}
        if found.metadata.controller is None:
            fields["metadata"]["ownerReferences"] = [controller_reference(SERVICES, meta)]
        effects.append(ensure_fields(_NAME, meta, ENDPOINT_SLICES, found, "fill", current, fields, premises))
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
        effects.append(ensure_child(_NAME, meta, ENDPOINT_SLICES, None, body, str(number), premises))
        number += 1
    effects.extend(_delete(service, each) for each in layout.surplus)
    return [effect for effect in effects if effect is not None]


def _delete(service: Service, found: EndpointSlice) -> Effect | None:
    premises = (premise_of(SERVICES, service.metadata),)
    return ensure_gone(_NAME, service.metadata, ENDPOINT_SLICES, found, premises=premises)

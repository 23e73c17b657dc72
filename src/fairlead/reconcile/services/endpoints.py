"""What the slices of a Service should hold: endpoints of its pods, by the ports they listen on. Pure.

Used by `endpoint_slices.py` and by the simulator's checker of slices. Pods that give a named port different numbers are
in different groups, as one slice has one list of ports. Addresses are IPv4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fairlead.model.marks import RELEASED
from fairlead.model.service_views import (
    HEADLESS,
    MANAGED_BY,
    SERVICE_NAME,
    SLICE_CONTROLLER,
    Service,
    ServicePort,
)
from fairlead.model.views import Json, Pod

Ports = tuple[tuple[tuple[str, str | int], ...], ...]  # of a slice, each as its items: can be a key
Groups = dict[Ports, dict[str, Json]]  # ports -> pod's uid -> endpoint


def labels_of(service: Service) -> dict[str, str]:
    """The Service's own and what says whose the slice is."""
    labels = {key: value for key, value in service.metadata.labels.items() if key != HEADLESS}
    if service.headless:
        labels[HEADLESS] = ""
    return {**labels, SERVICE_NAME: service.metadata.name, MANAGED_BY: SLICE_CONTROLLER}


def is_serving(pod: Pod) -> bool:
    """Ready, and nobody doubts it."""
    return pod.ready and not any(
        each.type == RELEASED and each.status == "True" for each in pod.status.conditions
    )


def visible_parts(pod: Pod | None) -> Any:
    """All of a pod that a slice can show: equal before and after, its change is none for a Service."""
    if pod is None or not pod.status.pod_ip or pod.finished or not pod.metadata.labels:
        return None
    meta = pod.metadata
    facts = (meta.uid, pod.status.pod_ip, pod.spec.node_name, is_serving(pod), bool(meta.deletion_timestamp))
    # Whose pod it is says which override weighs the zones.
    return facts, meta.labels, meta.owner_references


def group_endpoints(service: Service, pods: Iterable[Pod], zone_of: Callable[[str], str]) -> Groups:
    """Groups in the order of their ports, endpoints in the order of the pods."""
    groups: Groups = {}
    for pod in pods:
        if visible_parts(pod) is not None and ":" not in pod.status.pod_ip:
            groups.setdefault(_ports(service, pod), {})[pod.metadata.uid] = _endpoint(service, pod, zone_of)
    return dict(sorted(groups.items()))


def _endpoint(service: Service, pod: Pod, zone_of: Callable[[str], str]) -> Json:
    meta = pod.metadata
    serving, terminating = is_serving(pod), bool(meta.deletion_timestamp)
    ready = service.spec.publish_not_ready_addresses or (serving and not terminating)
    endpoint: Json = {
        "addresses": [pod.status.pod_ip],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid},
    }
    if pod.spec.node_name:
        endpoint["nodeName"] = pod.spec.node_name
        zone = zone_of(pod.spec.node_name)
        if zone:
            endpoint["zone"] = zone
    return endpoint


def _ports(service: Service, pod: Pod) -> Ports:
    """The Service's ports as this pod has them; one that it has no number for is left out."""
    found = []
    for port in service.spec.ports:
        number = _number(port, pod)
        if number:
            items: dict[str, str | int] = {"name": port.name, "protocol": port.protocol, "port": number}
            if port.app_protocol:
                items["appProtocol"] = port.app_protocol
            found.append(tuple(items.items()))
    return tuple(found)


def _number(port: ServicePort, pod: Pod) -> int:
    target = port.target_port
    if not isinstance(target, str):
        return target or port.port
    sidecars = [each for each in pod.spec.init_containers if each.restart_policy == "Always"]
    for container in (*pod.spec.containers, *sidecars):
        for each in container.ports:
            if each.get("name") == target and (each.get("protocol") or "TCP") == port.protocol:
                return int(each.get("containerPort", 0))
    return 0

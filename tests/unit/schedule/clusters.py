"""Clusters in a few lines: nodes and pods as mirrors would decode them, on a snapshot."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from fairlead.model.views import Namespace, Node, Pod, View
from fairlead.schedule.snapshot import Snapshot

Json = dict[str, Any]
V = TypeVar("V", bound=View)

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def viewed(obj: Json, view: type[V]) -> V:
    return msgspec.json.decode(msgspec.json.encode(obj), type=view)


def node(
    name: str, zone: str = "", labels: Json | None = None, room: Json | None = None, **spec: Any
) -> Node:
    own = {HOSTNAME: name, **({ZONE: zone} if zone else {}), **(labels or {})}
    status = {
        "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110", **(room or {})},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return viewed(
        {"metadata": {"name": name, "uid": name, "labels": own}, "spec": spec, "status": status}, Node
    )


def pod(
    name: str,
    on: str = "",
    cpu: str = "",
    labels: Json | None = None,
    started: str = "",
    nominated: str = "",
    leaving: bool = False,
    ports: tuple[Json, ...] = (),
    requests: Json | None = None,
    **spec: Any,
) -> Pod:
    asked = {**({"cpu": cpu} if cpu else {}), **(requests or {})}
    metadata: Json = {"name": name, "namespace": "default", "uid": f"{name}-uid", "labels": labels or {}}
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
    if leaving:
        metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    container = {"name": "c", "resources": {"requests": asked}, "ports": list(ports)}
    status = {"startTime": started, "nominatedNodeName": nominated}
    return viewed(
        {"metadata": metadata, "spec": {"containers": [container], "nodeName": on, **spec}, "status": status},
        Pod,
    )


def cluster(nodes: tuple[Node, ...], pods: tuple[Pod, ...] = (), spaces: Json | None = None) -> Snapshot:
    snapshot = Snapshot()
    for name, labels in (spaces or {}).items():
        space = viewed({"metadata": {"name": name, "uid": name, "labels": labels}}, Namespace)
        snapshot.observe("namespaces", None, space)
    for each in nodes:
        snapshot.observe("nodes", None, each)
    for one in pods:
        snapshot.observe("pods", None, one)
    return snapshot

"""Pods and nodes in one line each, for tables."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def node(
    name: str, zone: str = "", taints: tuple[Json, ...] = (), room: Json | None = None, **labels: str
) -> Json:
    """Underscores in label names stand for hyphens."""
    own = {HOSTNAME: name, **({ZONE: zone} if zone else {})}
    return {
        "metadata": {
            "name": name,
            "labels": own | {key.replace("_", "-"): value for key, value in labels.items()},
        },
        "spec": {"taints": list(taints)},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110", **(room or {})},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def taint(key: str, effect: str, value: str = "") -> Json:
    return {"key": key, "effect": effect, "value": value}


def pod(
    name: str,
    on: str = "",
    labels: Json | None = None,
    cpu: str = "",
    namespace: str = "default",
    **spec: Any,
) -> Json:
    container: Json = {"name": "c", "resources": {"requests": {"cpu": cpu}}} if cpu else {"name": "c"}
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {
        "metadata": metadata,
        "spec": {"containers": [container], **({"nodeName": on} if on else {}), **spec},
    }


def expression(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": list(values)}


def required(kind: str, *terms: Json) -> Json:
    """One of nodeAffinity, podAffinity, podAntiAffinity as it stands under `affinity`."""
    inside: Any = {"nodeSelectorTerms": list(terms)} if kind == "nodeAffinity" else list(terms)
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": inside}}


def preferred(kind: str, *terms: Json) -> Json:
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def near(key: str, labels: Json, **more: Any) -> Json:
    """A pod affinity term."""
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}, **more}


def spread(key: str, skew: int, labels: Json, when: str = "DoNotSchedule", **more: Any) -> Json:
    selector = {"matchLabels": labels}
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": when, "labelSelector": selector, **more}

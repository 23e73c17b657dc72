"""The downward API: fields of a pod, and amounts of its containers, as text. For variables and files.

Called by `environment.py` and `volumes.py`. Kubernetes' formats: maps as `key="value"` lines in key order, amounts
divided and rounded up, a limit that is not set is what the node has to give.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from fairlead.agent.contract import Isolation
from fairlead.agent.references import Missing
from fairlead.agent.views import BoundPod
from fairlead.core import quantity
from fairlead.core.codec import encode
from fairlead.model.views import Json

_SUBSCRIPT = re.compile(r"metadata\.(annotations|labels)\['([^']*)'\]")


class Surroundings(NamedTuple):
    """What a pod cannot know of itself."""

    address: str
    host_address: str
    allocatable: Mapping[str, str]
    user: int | None = None  # the agent's, whose processes have it unless they name another
    isolation: Isolation = Isolation()


def field_text(pod: BoundPod, around: Surroundings, path: str) -> str:
    subscript = _SUBSCRIPT.fullmatch(path)
    meta = pod.metadata
    if subscript:
        entries = meta.annotations if subscript[1] == "annotations" else meta.labels
        return entries.get(subscript[2], "")
    match path:
        case "metadata.name":
            return meta.name
        case "metadata.namespace":
            return meta.namespace
        case "metadata.uid":
            return meta.uid
        case "metadata.labels":
            return _lines(meta.labels)
        case "metadata.annotations":
            return _lines(meta.annotations)
        case "spec.nodeName":
            return pod.spec.node_name
        case "spec.serviceAccountName":
            return pod.spec.service_account_name
        case "status.podIP" | "status.podIPs":
            return around.address
        case "status.hostIP" | "status.hostIPs":
            return around.host_address
    raise Missing(f"fieldPath {path} is not supported on this node")


def resource_text(pod: BoundPod, around: Surroundings, reference: Json, container: str) -> str:
    name = reference.get("containerName") or container
    resource = reference.get("resource") or ""
    side, _, kind = resource.partition(".")
    for each in pod.all_containers:
        if each.name == name:
            given = each.resources.limits if side == "limits" else each.resources.requests
            amount: Any = given.get(kind)
            if amount is None and side == "limits":
                amount = around.allocatable.get(kind, "0")
            return _divided(kind, amount or "0", reference.get("divisor") or "0")
    raise Missing(f"resourceFieldRef names container {name}, which the pod does not have")


def _divided(kind: str, amount: Any, divisor: Any) -> str:
    parts = quantity.from_json(divisor).nano or quantity.NANO
    whole = quantity.from_json(amount).nano
    if kind == "cpu":  # Kubernetes counts cpu in thousandths before it divides
        whole, parts = quantity.from_json(amount).milli(), max(1, quantity.Quantity(parts).milli())
    return str(-(-whole // parts))


def _lines(entries: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={encode(entries[key]).decode()}" for key in sorted(entries))

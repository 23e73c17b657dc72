"""Objects that are exchanged at the address of a part of another one, and never stored: Scale, Binding, Eviction,
TokenRequest.

Their kinds are in no catalog. Read by `subresources/` and by admission policies, which judge and change what was sent
(`admission/policies/`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind, Scale
from fairlead.model.selectors import from_object

_SHOWN_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def _desired(scale: Json, now: float) -> Cell:
    replicas: int = scale["spec"]["replicas"]
    return replicas


def _available(scale: Json, now: float) -> Cell:
    replicas: int = scale["status"]["replicas"]
    return replicas


SCALE = Kind(
    group="autoscaling",
    version="v1",
    kind="Scale",
    plural="scales",
    namespaced=True,
    schema="Scale",
    columns=(Column("Desired", _desired, "integer"), Column("Available", _available, "integer"), AGE),
)
BINDING = Kind(group="", version="v1", kind="Binding", plural="bindings", namespaced=True, schema="Binding")
EVICTION = Kind(
    group="policy", version="v1", kind="Eviction", plural="evictions", namespaced=True, schema="Eviction"
)
TOKEN_REQUEST = Kind(
    group="authentication.k8s.io",
    version="v1",
    kind="TokenRequest",
    plural="tokenrequests",
    namespaced=True,
    schema="TokenRequest",
)
# By the subresource at which it is exchanged; elsewhere it is the parent itself.
KINDS: Mapping[str, Kind] = {
    "scale": SCALE,
    "binding": BINDING,
    "eviction": EVICTION,
    "token": TOKEN_REQUEST,
}


def scale_of(kind: Kind, obj: Json) -> Json:
    """The Scale of an object that has one."""
    paths, metadata = scale_paths(kind), obj["metadata"]
    return {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": {field: metadata[field] for field in _SHOWN_METADATA if field in metadata},
        "spec": {"replicas": number_at(obj, paths.spec_replicas)},
        "status": {
            "replicas": number_at(obj, paths.status_replicas),
            "selector": _selector(kind, _at(obj, paths.selector)) if paths.selector else "",
        },
    }


def set_replicas(kind: Kind, obj: Json, replicas: int) -> None:
    """Changes the number in the parent, in place."""
    *path, last = scale_paths(kind).spec_replicas
    for name in path:
        if not isinstance(obj.get(name), dict):
            obj[name] = {}
        obj = obj[name]
    obj[last] = replicas


def scale_paths(kind: Kind) -> Scale:
    assert kind.scale is not None
    return kind.scale


def number_at(obj: Json, path: tuple[str, ...]) -> int:
    """Where a schema leaves it open there may be anything; clients expect a number."""
    found = _at(obj, path)
    return found if type(found) is int else 0


def _selector(kind: Kind, found: Any) -> str:
    """Custom kinds have it as text already, or it is none."""
    if kind.definition:
        return found if isinstance(found, str) else ""
    return found if isinstance(found, str) else str(from_object(found)) if isinstance(found, dict) else ""


def _at(obj: Json, path: tuple[str, ...]) -> Any:
    value: Any = obj
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value

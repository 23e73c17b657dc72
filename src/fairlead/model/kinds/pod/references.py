"""References from a pod to its own fields and resources (the downward API), and to keys of other objects.

Used by container variables (`containers.py`) and by volumes (`volumes.py`); the two accept different fields.
"""

from __future__ import annotations

import re

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.names import config_key_problems, label_key_problems

_ENV_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
_VOLUME_FIELDS = frozenset(
    {
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
    }
)
_RESOURCES = frozenset(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_SUBSCRIPT = re.compile(r"metadata\.(annotations|labels)\['([^']*)'\]")


def validate_field_ref(reference: Json, path: str, problems: Problems, *, volume: bool = False) -> None:
    """`fieldRef`: a field of the pod that a variable or a file may show."""
    target = reference.get("fieldPath") or ""
    if not target:
        problems.required(f"{path}.fieldPath")
        return
    subscript = _SUBSCRIPT.fullmatch(target)
    if subscript:
        key = subscript[2].lower() if subscript[1] == "annotations" else subscript[2]
        for text in label_key_problems(key):
            problems.invalid(f"{path}.fieldPath", target, text)
        return
    allowed = _VOLUME_FIELDS if volume else _ENV_FIELDS
    if target not in allowed:
        problems.unsupported(f"{path}.fieldPath", target, sorted(allowed))


def validate_resource_ref(reference: Json, path: str, problems: Problems, *, volume: bool = False) -> None:
    """`resourceFieldRef`: a container's request or limit."""
    if volume and not reference.get("containerName"):
        problems.required(f"{path}.containerName")
    resource = reference.get("resource") or ""
    if not resource:
        problems.required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        problems.unsupported(f"{path}.resource", resource, sorted(_RESOURCES))


def validate_key_ref(reference: Json, path: str, problems: Problems) -> None:
    """`configMapKeyRef` and `secretKeyRef`: a key of a named object."""
    if not reference.get("name"):
        problems.required(f"{path}.name")
    key = reference.get("key")
    if not key:
        problems.required(f"{path}.key")
        return
    for text in config_key_problems(key):
        problems.invalid(f"{path}.key", key, text)

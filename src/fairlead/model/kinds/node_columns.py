"""What `kubectl get nodes` shows. Placed in the descriptor by `node.py`."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.model.cells import AGE, NONE, UNKNOWN
from fairlead.model.kind import Cell, Column, Json
from fairlead.model.marks import AUTHOR, REASON

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _status(node: Json, now: float) -> Cell:
    words = []
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            words.append("Ready" if condition.get("status") == "True" else "NotReady")
    if not words:
        words.append("Unknown")
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(node: Json, now: float) -> Cell:
    roles = set()
    for key, value in ((node.get("metadata") or {}).get("labels") or {}).items():
        if key.startswith(_ROLE_PREFIX) and len(key) > len(_ROLE_PREFIX):
            roles.add(key[len(_ROLE_PREFIX) :])
        elif key == _ROLE_LABEL and value:
            roles.add(value)
    return ",".join(sorted(roles)) or NONE


def _info(field: str, missing: str) -> Callable[[Json, float], Cell]:
    def cell(node: Json, now: float) -> Cell:
        info = (node.get("status") or {}).get("nodeInfo") or {}
        return info.get(field) or missing

    return cell


def _address(kind: str) -> Callable[[Json, float], Cell]:
    def cell(node: Json, now: float) -> Cell:
        for entry in (node.get("status") or {}).get("addresses") or ():
            if entry.get("type") == kind:
                return entry.get("address") or NONE
        return NONE

    return cell


def _reason(node: Json, now: float) -> Cell:
    """Why it was cordoned, and by whom."""
    annotations = (node.get("metadata") or {}).get("annotations") or {}
    author = annotations.get(AUTHOR)
    told = annotations.get(REASON) or ""
    if not author:
        return told or NONE
    return f"{told} ({author})" if told else f"({author})"


COLUMNS = (
    Column("Status", _status, description="Whether the node is ready and takes new pods."),
    Column("Roles", _roles, description="Roles from the node's labels."),
    AGE,
    Column("Version", _info("kubeletVersion", ""), description="Version of the node's agent."),
    Column("Internal-IP", _address("InternalIP"), priority=1, description="Address inside the cluster."),
    Column("External-IP", _address("ExternalIP"), priority=1, description="Address outside the cluster."),
    Column("OS-Image", _info("osImage", UNKNOWN), priority=1, description="Operating system."),
    Column("Kernel-Version", _info("kernelVersion", UNKNOWN), priority=1, description="Kernel."),
    Column(
        "Container-Runtime",
        _info("containerRuntimeVersion", UNKNOWN),
        priority=1,
        description="What runs the containers.",
    ),
    Column("Reason", _reason, priority=1, description="Why somebody took it out of use, and who."),
)

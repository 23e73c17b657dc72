"""Kinds of Kubernetes that clients list without asking whether they are served, and of which there are none here.

Called by `server.py`. `kubectl cluster-info dump` stops at the first list that is refused, and schedulers and
controllers made for Kubernetes wait until each of their watches is open. These lists are empty for good: what reads
them goes on, and whoever wants to make one is told what to use instead.
"""

from __future__ import annotations

from fairlead.core.errors import MethodNotAllowed
from fairlead.model.kind import Kind
from fairlead.port.request import Request

VERBS = ("get", "list", "watch")
_INSTEAD = {"replicationcontrollers": "a Deployment or a ReplicaSet"}
EMPTY = (
    Kind(
        group="",
        version="v1",
        kind="ReplicationController",
        plural="replicationcontrollers",
        namespaced=True,
        schema="ReplicaSet",
    ),
)


def find_empty(group: str, version: str, plural: str) -> Kind | None:
    """The kind that an address names, or None."""
    return next(
        (each for each in EMPTY if (each.group, each.version, each.plural) == (group, version, plural)), None
    )


def check_reads(request: Request, kind: Kind) -> None:
    """MethodNotAllowed for whatever would make one."""
    if request.verb not in VERBS:
        instead = f"there are none here, use {_INSTEAD[kind.plural]}"
        raise MethodNotAllowed(f"the server does not allow {request.verb} on {kind.plural}: {instead}")

"""A drain as people do it: the node is cordoned, and each pod that is bound to it is evicted until it is gone.

Used by the world for steps that drain (`ScenarioStep.drains`). Pods of DaemonSets stay, as with `kubectl drain`. Each
eviction names the uid of its pod: one of the same name that comes in its place is not meant.
"""

from __future__ import annotations

from fairlead.core import codec
from fairlead.model.views import PODS
from fairlead.port.request import Request
from fairlead.sim.checkers.contract import CommittedObjects
from fairlead.sim.scenario import eviction

_DONE = {"create": 409, "delete": 404}


def drained(objects: CommittedObjects, node: str) -> list[Request]:
    """One eviction for each pod that is bound there."""
    found: list[Request] = []
    for key, pod in sorted(objects.of(PODS.name).items()):
        owner = pod.metadata.controller
        if pod.spec.node_name == node and not pod.finished and (owner is None or owner.kind != "DaemonSet"):
            found.append(eviction(key.namespace, key.name, pod.metadata.uid))
    return found


def is_done(request: Request, status: int) -> bool:
    """Whether people are content: it was done, or is so by now."""
    if status < 400 or status == _DONE.get(request.verb):
        return True
    return status == 404 and _of_drain(request)


def _of_drain(request: Request) -> bool:
    return request.subresource == "eviction" and "deleteOptions" in codec.decode(request.body)

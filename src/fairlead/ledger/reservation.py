"""Reservations: who may use one, what room it keeps, when it ends. Used by the API, the controller, the scheduler.

    Pending --room found--> Active --a pod is bound--> Allocated
       \\----------- end reached: Expired; owner gone: Released -----------/

Only an Active one keeps room. A pod may use it if it names it (annotation `fairlead.dev/reservation`), is its owner, or
is owned by it. With `allocateOnce: false` it stays Active and the pods that use it share its room.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.core.times import timestamp
from fairlead.ledger.pod_needs import Usage, exact
from fairlead.model.kind import Json
from fairlead.model.kinds.reservation import expires_at
from fairlead.model.views import Reservation

ANNOTATION = "fairlead.dev/reservation"
# On a pod: the reservation it was bound with, where the API did not mark that as used in the same transaction.
BOUND_WITH = "fairlead.dev/bound-with"
# Finalizer: its controller removes it when no pod uses the room; until then it stays, to tell where that came from.
IN_USE = "fairlead.dev/room-in-use"
PENDING, ACTIVE, ALLOCATED, EXPIRED, RELEASED = "Pending", "Active", "Allocated", "Expired", "Released"


def end_of(reservation: Reservation) -> float:
    spec = reservation.spec
    return expires_at(reservation.metadata.creation_timestamp, spec.expires_at, spec.ttl_seconds)


def keeps(reservation: Reservation) -> bool:
    """Whether it keeps room on its node now, as far as its status says. One that is being deleted keeps none: nobody
    can be bound with it any more."""
    status = reservation.status
    return status.phase == ACTIVE and bool(status.node_name) and not reservation.metadata.deletion_timestamp


def room_of(reservation: Reservation) -> Usage:
    return exact(reservation.spec.requests)


def may_use(reservation: Reservation, namespace: str, named: str, uids: Iterable[str]) -> bool:
    """Whether a pod may: `named` is what its annotation says, `uids` are its own and its owners'."""
    meta = reservation.metadata
    if meta.namespace != namespace:
        return False
    return named == meta.name or reservation.spec.owner.uid in uids


def refusal(reservation: Reservation, node: str, now: float) -> str:
    """Why a pod cannot be bound with it to this node; "" if it can."""
    status = reservation.status
    if status.phase != ACTIVE:
        to = f" to pod {status.allocated_to.name}" if status.allocated_to is not None else ""
        return f"it is {status.phase or PENDING}{to}, not {ACTIVE}"
    if reservation.metadata.deletion_timestamp:
        return "it is being deleted"
    if now >= end_of(reservation):
        return "its time is over"
    if status.node_name != node:
        return f"it keeps room on node {status.node_name}, not on {node}"
    return ""


def allocate(reservation: Json, pod: str, uid: str, now: float) -> Json:
    """The stored reservation after a pod was bound with it."""
    status = dict(reservation.get("status") or {})
    status["allocatedTo"] = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid}
    if reservation["spec"].get("allocateOnce", True):
        status["phase"] = ALLOCATED
        others = [each for each in status.get("conditions") or () if each.get("type") != "Ready"]
        status["conditions"] = [
            *others,
            {
                "type": "Ready",
                "status": "False",
                "reason": ALLOCATED,
                "message": f"pod {pod} uses it",
                "lastTransitionTime": timestamp(now),
            },
        ]
    return {**reservation, "status": status}

"""What a SchedulerOverride left behind that has ended or was removed: reservations made for it, pods on the capacity it
gave. Used by its controller, and by `fairlead override report` for one that is gone. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from fairlead.ledger import override as ledger
from fairlead.ledger import reservation as reservations
from fairlead.model.key import Key
from fairlead.model.views import PODS, RESERVATIONS, Reservation, Resource, View

T = TypeVar("T", bound=View)


class Looking(Protocol):
    """What is read for it: a part of `decision/contract.py`'s Reading."""

    def get(self, resource: Resource[T], namespace: str, name: str) -> T | None: ...

    def list(self, resource: Resource[T], namespace: str = "") -> Sequence[T]: ...


def made_for(view: Looking, override: Key) -> Iterator[Reservation]:
    return (each for each in view.list(RESERVATIONS) if ledger.made_for(each.metadata) == override)


def residue_of(view: Looking, override: Key) -> Iterator[str]:
    """In the order of names. A reservation that has ended keeps no room, but its pod may still run there."""
    for each in made_for(view, override):
        meta, phase = each.metadata, each.status.phase
        used = each.status.allocated_to
        pod = view.get(PODS, meta.namespace, used.name) if used is not None else None
        if pod is not None and used is not None and pod.metadata.uid == used.uid and not pod.finished:
            class_ = each.spec.capacity_class
            yield f"pod {meta.namespace}/{used.name} runs in capacity class {class_} on {pod.spec.node_name}"
        elif phase not in (reservations.EXPIRED, reservations.RELEASED):
            yield f"reservation {meta.namespace}/{meta.name} is {phase or reservations.PENDING}"

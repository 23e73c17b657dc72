"""What a SchedulerOverride that has ended left behind: reservations made for it, pods on the capacity it gave. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.decision.contract import Reading
from fairlead.ledger import override as ledger
from fairlead.ledger import reservation as reservations
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, PODS, RESERVATIONS, SchedulerOverride


def residue_of(view: Reading, override: SchedulerOverride) -> Iterator[str]:
    """In the order of names. A reservation that has ended keeps no room, but its pod may still run there."""
    own = Key(OVERRIDES.name, override.metadata.namespace, override.metadata.name)
    for each in view.list(RESERVATIONS):
        meta, phase = each.metadata, each.status.phase
        if ledger.made_for(meta) != own:
            continue
        used = each.status.allocated_to
        pod = view.get(PODS, meta.namespace, used.name) if used is not None else None
        if pod is not None and used is not None and pod.metadata.uid == used.uid and not pod.finished:
            class_ = each.spec.capacity_class
            yield f"pod {meta.namespace}/{used.name} runs in capacity class {class_} on {pod.spec.node_name}"
        elif phase not in (reservations.EXPIRED, reservations.RELEASED):
            yield f"reservation {meta.namespace}/{meta.name} is {phase or reservations.PENDING}"

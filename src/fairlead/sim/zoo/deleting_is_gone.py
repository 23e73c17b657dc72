"""An owner that is being deleted counts as gone: what it owns goes before it, whatever it still waits for."""

from __future__ import annotations

from msgspec import structs

from fairlead.decision.contract import Decision, Reading, Waiting
from fairlead.decision.decider import Decider
from fairlead.decision.ensure import ensure_gone
from fairlead.model.key import Key
from fairlead.model.metadata import FOREGROUND, ORPHAN
from fairlead.model.views import DEPLOYMENTS, REPLICASETS
from fairlead.reconcile.garbage import NAME
from fairlead.sim.zoo.wrapping import deciding, spoiling


@deciding
def hasty(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    found = view.get(REPLICASETS, key.namespace, key.name) if key.resource == REPLICASETS.name else None
    if decision.effects or found is None:
        return decision
    for owner in found.metadata.owner_references:
        goes = view.get(DEPLOYMENTS, key.namespace, owner.name)
        meta = goes.metadata if goes is not None else None
        if meta is not None and meta.deletion_timestamp and not {FOREGROUND, ORPHAN} & {*meta.finalizers}:
            gone = ensure_gone(NAME, found.metadata, REPLICASETS, found)
            return structs.replace(
                decision, verdict=Waiting("OwnersGone", ""), effects=(gone,) if gone else ()
            )
    return decision


plant = spoiling(NAME, hasty)

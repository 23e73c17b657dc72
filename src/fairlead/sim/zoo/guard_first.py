"""Zoo 4: the mark "done" is written before the work; after a crash between the two nobody does the work."""

from __future__ import annotations

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Create
from fairlead.decision.ensure import ensure_field
from fairlead.model.key import Key
from fairlead.model.views import REPLICASETS
from fairlead.sim.zoo.wrapping import deciding, spoiling

MARK = "zoo.fairlead.dev/filled-for"


@deciding
def guard_first(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    found = view.get(REPLICASETS, key.namespace, key.name)
    if found is None or not any(isinstance(effect, Create) for effect in decision.effects):
        return decision
    meta = found.metadata
    known, wanted = meta.annotations.get(MARK), str(found.spec.replicas)
    if known == wanted:
        rest = tuple(effect for effect in decision.effects if not isinstance(effect, Create))
        return structs.replace(decision, effects=rest)
    mark = ensure_field(
        inner.name, meta, REPLICASETS, found, ("metadata", "annotations", MARK), known, wanted
    )
    creates = tuple(effect for effect in decision.effects if isinstance(effect, Create))
    return structs.replace(decision, effects=(mark, *creates) if mark else creates)


plant = spoiling("replicaset", guard_first)

"""Zoo 2: a pod that was too many for an older, lower number is deleted, whatever is wanted by then."""

from __future__ import annotations

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Delete
from fairlead.model.key import Key
from fairlead.sim.zoo.wrapping import deciding, spoiling


@deciding
def unconditional(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    """Its deletions name the pod, and not the set that had one too many."""
    decision = inner.decide(view, key, now)
    effects = tuple(
        structs.replace(each, premises=()) if isinstance(each, Delete) else each for each in decision.effects
    )
    return structs.replace(decision, effects=effects)


plant = spoiling("replicaset", unconditional)

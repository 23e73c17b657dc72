"""Zoo 3: a child is made for an owner that has gone since, because the create rests on nothing but its own name."""

from __future__ import annotations

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Create
from fairlead.model.key import Key
from fairlead.sim.zoo.wrapping import deciding, spoiling


@deciding
def ownerless(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    effects = tuple(
        structs.replace(each, premises=()) if isinstance(each, Create) else each for each in decision.effects
    )
    return structs.replace(decision, effects=effects)


plant = spoiling("replicaset", ownerless)

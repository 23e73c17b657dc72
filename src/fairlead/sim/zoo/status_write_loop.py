"""laws.md 7: a status carries the time of its writing, so every look writes, and every write is looked at."""

from __future__ import annotations

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.ensure import ensure_status
from fairlead.model.key import Key
from fairlead.model.views import REPLICASETS, Condition
from fairlead.sim.zoo.wrapping import deciding, spoiling


@deciding
def chatty(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    found = view.get(REPLICASETS, key.namespace, key.name)
    if found is None or decision.effects:
        return decision
    looked = Condition("ReplicaFailure", "False", "LookedAt", "all is well", timestamp(now))
    wanted = structs.replace(found.status, conditions=(looked,))
    status = ensure_status(inner.name, REPLICASETS, found, wanted, always=("replicas",))
    return structs.replace(decision, effects=(status,) if status else ())


plant = spoiling("replicaset", chatty)

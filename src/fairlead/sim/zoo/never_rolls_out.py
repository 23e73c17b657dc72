"""A StatefulSet that takes another template, says so in its status, and leaves its pods as they are."""

from __future__ import annotations

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Delete, Effect
from fairlead.model.key import Key
from fairlead.model.views import STATEFULSETS
from fairlead.sim.zoo.wrapping import deciding, spoiling


@deciding
def lazy(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    found = view.get(STATEFULSETS, key.namespace, key.name)
    wanted = 0 if found is None else found.spec.replicas

    def updates(effect: Effect) -> bool:
        return isinstance(effect, Delete) and int(effect.name.rpartition("-")[2]) < wanted

    return structs.replace(decision, effects=tuple(each for each in decision.effects if not updates(each)))


plant = spoiling("statefulset", lazy)

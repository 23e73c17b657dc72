"""Compare-and-swap on an old read: a status is written with the revision that was read first, and refused for ever."""

from __future__ import annotations

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import ChangeStatus, Effect
from fairlead.model.key import Key
from fairlead.sim.zoo.wrapping import deciding, spoiling


def remembering(inner: Decider) -> Decider:
    first: dict[str, int] = {}  # uid -> the revision at which an object was first written

    def old(effect: Effect) -> Effect:
        if not isinstance(effect, ChangeStatus):
            return effect
        return structs.replace(effect, revision=first.setdefault(effect.uid, effect.revision))

    @deciding
    def decide(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
        decision = inner.decide(view, key, now)
        return structs.replace(decision, effects=tuple(map(old, decision.effects)))

    return decide(inner)


plant = spoiling("statefulset", remembering)

"""Zoo 1: whoever saw an owner go deletes its children by the owner's name, and hits those of its namesake."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.ensure import ensure_gone
from fairlead.decision.predicates import GONE
from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS, ReplicaSet
from fairlead.sim.zoo.wrapping import spoiling


def name_cleaner(inner: Decider) -> Decider:
    gone: set[Key] = set()

    def notice(event: WatchEvent[ReplicaSet]) -> Iterable[Key]:
        gone.add(event.key)
        return ()

    def decide(view: Reading, key: Key, now: float) -> Decision:
        if key not in gone:
            return inner.decide(view, key, now)
        gone.discard(key)
        effects = []
        for pod in view.list(PODS, key.namespace):
            owner = pod.metadata.controller
            if owner is not None and owner.name == key.name and owner.kind == REPLICASETS.kind:
                effects.append(ensure_gone(inner.name, pod.metadata, PODS, pod))
        return Decision(effects=tuple(effect for effect in effects if effect is not None), again_at=now + 1)

    return replace(inner, wakes=(*inner.wakes, Wake(REPLICASETS, notice, when=GONE)), decide=decide)


plant = spoiling("replicaset", name_cleaner)

"""Zoo 1: whoever saw an owner go deletes its children by the owner's name, and hits those of its namesake."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.contract import Decider, Decision, Reading
from fairlead.decision.ensure import ensure_gone
from fairlead.model.views import PODS, REPLICASETS, View
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import Wrapped, wrap
from fairlead.store.contract import Key


class NameCleaner(Wrapped):
    def __init__(self, inner: Decider) -> None:
        super().__init__(inner)
        self._gone: set[Key] = set()

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        found = tuple(self.inner.keys(resource, before, after))
        if resource == REPLICASETS.name and after is None:
            self._gone.update(found)
        return found

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        if key not in self._gone:
            return self.inner.decide(view, key, now)
        self._gone.discard(key)
        effects = []
        for pod in view.list(PODS, key.namespace):
            owner = pod.metadata.controller
            if owner is not None and owner.name == key.name and owner.kind == REPLICASETS.kind:
                effects.append(ensure_gone(self.name, pod.metadata, PODS, pod))
        return Decision(effects=tuple(effect for effect in effects if effect is not None), again_at=now + 1)


def plant(parts: Parts) -> Parts:
    return wrap(parts, "replicaset", NameCleaner)

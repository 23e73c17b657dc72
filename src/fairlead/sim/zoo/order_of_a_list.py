"""Which pod is too many is decided by the order in which a list brought them. The next leader, whose list came in
another order, chooses another one while the first deletion is still on its way.

The premises of a deletion alone would keep that from doing harm: they are gone as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs

from fairlead.cache.view import MirrorView
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Delete
from fairlead.decision.ensure import ensure_gone
from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS, Pod
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import deciding, wrap


@deciding
def first_come(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    found = view.get(REPLICASETS, key.namespace, key.name)
    deletes = [each for each in decision.effects if isinstance(each, Delete)]
    if found is None or not deletes:
        return decision
    chosen = _as_listed(view, found.metadata.uid)[: len(deletes)]
    gone = (ensure_gone(inner.name, found.metadata, PODS, pod) for pod in chosen)
    return structs.replace(decision, effects=tuple(each for each in gone if each is not None))


def _as_listed(view: Any, uid: str) -> Sequence[Pod]:
    """Live pods of a set in the order in which the mirror came to know them."""
    assert isinstance(view, MirrorView)
    known = view._mirrors[PODS.name].index._objects
    pods = [pod for pod in known.values() if pod.metadata.controller is not None]
    return [pod for pod in pods if pod.metadata.controller.uid == uid and pod.live]


def plant(parts: Parts) -> Parts:
    return wrap(parts, "replicaset", first_come)

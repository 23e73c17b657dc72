"""Which pod is too many is decided by the order of the last list. When that comes in another order, another one is
chosen while the first deletion may still be on its way.

The premises of a deletion would keep that from doing harm: they are gone as well. Without them alone, and with an order
that is always the same, the second deletion is the first once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from fairlead.cache.events import Changed
from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView
from fairlead.control.plane import Plane
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Delete
from fairlead.decision.ensure import ensure_gone
from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS, Pod
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import deciding, wrap
from fairlead.store.contract import Entry


class ListedMirror(Mirror[Any]):
    """Knows in which order the last list came."""

    listed: tuple[str, ...] = ()

    def _differences(self, entries: Iterable[Entry]) -> list[Changed]:
        self.listed = tuple(entry.key.name for entry in entries)
        return super()._differences(entries)


class ListingPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.mirrors[PODS.name] = ListedMirror(PODS)


@deciding
def first_listed(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    found = view.get(REPLICASETS, key.namespace, key.name)
    deletes = [each for each in decision.effects if isinstance(each, Delete)]
    if found is None or not deletes:
        return decision
    pods = [pod for pod in view.owned(PODS, found.metadata.uid, found.metadata.namespace) if pod.live]
    pods.sort(key=lambda pod: _place(view, pod))
    gone = (ensure_gone(inner.name, found.metadata, PODS, pod) for pod in pods[: len(deletes)])
    return structs.replace(decision, effects=tuple(each for each in gone if each is not None))


def _place(view: Any, pod: Pod) -> int:
    assert isinstance(view, MirrorView)
    mirror = view._mirrors[PODS.name]
    assert isinstance(mirror, ListedMirror)
    name = pod.metadata.name
    return mirror.listed.index(name) if name in mirror.listed else len(mirror.listed)


def plant(parts: Parts) -> Parts:
    return {**wrap(parts, "replicaset", first_listed), "plane": ListingPlane}

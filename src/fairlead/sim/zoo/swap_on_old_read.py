"""A status is compared and swapped on the object as it was first read: once somebody else has changed that, every
attempt meets the same conflict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import ChangeStatus
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.views import REPLICASETS, ReplicaSet, Resource
from fairlead.sim.zoo.wrapping import SpoiltView, spoiling


class _Former(SpoiltView):
    """A view that shows one object as it was."""

    def __init__(self, inner: Reading, former: ReplicaSet) -> None:
        super().__init__(inner)
        self._former = former

    def get(self, resource: Resource[Any], namespace: str, name: str) -> Any:
        found = self._inner.get(resource, namespace, name)
        return self._former if isinstance(found, ReplicaSet) and name == self._former.metadata.name else found


def insisting(inner: Decider) -> Decider:
    read: dict[str, tuple[ReplicaSet, Json]] = {}  # by uid: what was read, and what is to be written

    def decide(view: Reading, key: Key, now: float) -> Decision:
        found = view.get(REPLICASETS, key.namespace, key.name)
        if found is None:
            return inner.decide(view, key, now)
        uid, seen = found.metadata.uid, view
        former, wanted = read.get(uid, (found, {}))
        if former.metadata.revision != found.metadata.revision:
            if _is_written(found, wanted):
                del read[uid]
            else:
                seen = _Former(view, former)
        decision = structs.replace(inner.decide(seen, key, now), is_final=False)
        for each in decision.effects:
            if isinstance(each, ChangeStatus):
                read.setdefault(uid, (found, each.patch["status"]))
        return decision

    return replace(inner, decide=decide)


def _is_written(found: ReplicaSet, wanted: Json) -> bool:
    status = msgspec.to_builtins(found.status)
    return all(status.get(name) == value for name, value in wanted.items() if value is not None)


plant = spoiling("replicaset", insisting)

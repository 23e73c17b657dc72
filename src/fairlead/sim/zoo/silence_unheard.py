"""An eviction counts the pods of a node that is silent until the node is marked: budget and server see marks only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairlead.api.access.sign_in import SignIn
from fairlead.api.desk import Desk
from fairlead.api.heard_nodes import HeardNodes
from fairlead.api.server import Api
from fairlead.decision.contract import Sighting
from fairlead.model.views import Resource
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import SpoiltView, looking_through, wrap
from fairlead.store.contract import Reader


class MarkedNodes(HeardNodes):
    """Hears nothing; reads marks."""

    __slots__ = ()

    def is_out_of_reach(self, read: Reader, node: str, now: float) -> bool:
        return self.is_marked(read, node)


class MarksApi(Api):
    __slots__ = ()

    def __init__(self, desk: Desk, sign_in: SignIn) -> None:
        super().__init__(replace(desk, heard=MarkedNodes()), sign_in)


class Patient(SpoiltView):
    """A view in which every lease was renewed a moment ago."""

    def sighting(self, resource: Resource[Any], namespace: str, name: str) -> Sighting | None:
        found = self._inner.sighting(resource, namespace, name)
        return None if found is None else found._replace(silent_seconds=0.0)


def plant(parts: Parts) -> Parts:
    return wrap({**parts, "api": MarksApi}, "disruption", looking_through(Patient))

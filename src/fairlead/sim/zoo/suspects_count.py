"""A rollback is planned by what pods last said of themselves: those of a node that is merely suspected count.

Nodes that were given up are known to the Deployment's controller; the stages before that are not.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.decision.contract import Decision, Reading, Sighting
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.model.marks import SILENT_SINCE, SUSPECT
from fairlead.model.views import Node, Resource, View
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import deciding, wrap


class Unsuspecting:
    """A view in which nobody is suspected of anything."""

    def __init__(self, inner: Reading) -> None:
        self._inner = inner

    def get(self, resource: Resource[Any], namespace: str, name: str) -> View | None:
        found: View | None = self._inner.get(resource, namespace, name)
        if not isinstance(found, Node):
            return found
        taints = tuple(each for each in found.spec.taints if each.get("key") != SUSPECT)
        noted = {key: value for key, value in found.metadata.annotations.items() if key != SILENT_SINCE}
        metadata = structs.replace(found.metadata, annotations=noted)
        return structs.replace(found, metadata=metadata, spec=structs.replace(found.spec, taints=taints))

    def sighting(self, resource: Resource[Any], namespace: str, name: str) -> Sighting | None:
        found = self._inner.sighting(resource, namespace, name)
        return None if found is None else found._replace(silent_seconds=0.0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@deciding
def trusting(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    blind: Any = Unsuspecting(view)
    return inner.decide(blind, key, now)


def plant(parts: Parts) -> Parts:
    return wrap(parts, "deployment", trusting)

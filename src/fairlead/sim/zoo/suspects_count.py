"""A rollback is planned by what pods last said of themselves: those of a node that is merely suspected count.

Nodes that were given up are known to the Deployment's controller; the stages before that are not.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.model.marks import SILENT_SINCE, SUSPECT
from fairlead.model.views import Node, Resource, View
from fairlead.sim.zoo.silence_unheard import Patient
from fairlead.sim.zoo.wrapping import looking_through, spoiling


class Unsuspecting(Patient):
    """A view in which nobody is suspected of anything."""

    def get(self, resource: Resource[Any], namespace: str, name: str) -> View | None:
        found: View | None = self._inner.get(resource, namespace, name)
        if not isinstance(found, Node):
            return found
        taints = tuple(each for each in found.spec.taints if each.get("key") != SUSPECT)
        noted = {key: value for key, value in found.metadata.annotations.items() if key != SILENT_SINCE}
        metadata = structs.replace(found.metadata, annotations=noted)
        return structs.replace(found, metadata=metadata, spec=structs.replace(found.spec, taints=taints))


plant = spoiling("deployment", looking_through(Unsuspecting))

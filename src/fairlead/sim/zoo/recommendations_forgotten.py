"""Zoo: recommendations are kept in the memory of a process: a new leader has heard of none, and takes pods away."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.decision.decider import Decider
from fairlead.model.views import AUTOSCALERS
from fairlead.sim.zoo.wrapping import SpoiltView, looking_through, spoiling

_LOOKS = 3  # until it has heard enough


def spoil(inner: Decider) -> Decider:
    """A Decider is made anew with each start of a plane: so is what it remembers."""
    looked: dict[str, int] = {}

    class Forgetful(SpoiltView):
        def get(self, resource: Any, namespace: str, name: str) -> Any:
            found = self._inner.get(resource, namespace, name)
            if found is None or resource.name != AUTOSCALERS.name:
                return found
            uid = found.metadata.uid
            looked[uid] = looked.get(uid, 0) + 1
            if looked[uid] > _LOOKS:
                return found
            behavior = {**found.spec.behavior, "scaleDown": {"stabilizationWindowSeconds": 0}}
            return structs.replace(found, spec=structs.replace(found.spec, behavior=behavior))

    return looking_through(Forgetful)(inner)


plant = spoiling("autoscaler", spoil)

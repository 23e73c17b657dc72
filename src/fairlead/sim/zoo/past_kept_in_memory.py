"""Zoo: what an objective has seen is kept in the memory of a process: a new leader writes as if nothing had been."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.decision.decider import Decider
from fairlead.model.views.objectives import OBJECTIVES
from fairlead.sim.zoo.wrapping import SpoiltView, looking_through, spoiling


def spoil(inner: Decider) -> Decider:
    """A Decider is made anew with each start of a plane: so is what it remembers."""
    known: set[str] = set()

    class Forgetful(SpoiltView):
        def get(self, resource: Any, namespace: str, name: str) -> Any:
            found = self._inner.get(resource, namespace, name)
            if found is None or resource.name != OBJECTIVES.name or found.metadata.uid in known:
                return found
            known.add(found.metadata.uid)
            return structs.replace(found, status=structs.replace(found.status, changes=()))

    return looking_through(Forgetful)(inner)


plant = spoiling("service-level", spoil)

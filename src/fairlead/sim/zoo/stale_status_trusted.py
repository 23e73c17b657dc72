"""Zoo 21: what a ReplicaSet last reported is read as if it were about the newest generation: one that was told to
shrink has no more pods than it was told to have."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.model.views import ReplicaSet
from fairlead.sim.zoo.wrapping import SpoiltView, looking_through, spoiling


class Believing(SpoiltView):
    """A view in which every set has reported of its newest generation."""

    def get(self, *asked: Any) -> Any:
        return _believed(self._inner.get(*asked))

    def owned(self, *asked: Any) -> Any:
        return tuple(map(_believed, self._inner.owned(*asked)))

    def select(self, *asked: Any) -> Any:
        return tuple(map(_believed, self._inner.select(*asked)))


def _believed(found: Any) -> Any:
    if not isinstance(found, ReplicaSet) or found.status.observed_generation >= found.metadata.generation:
        return found
    replicas = min(found.status.replicas, found.spec.replicas)
    status = structs.replace(found.status, replicas=replicas, observed_generation=found.metadata.generation)
    return structs.replace(found, status=status)


plant = spoiling("deployment", looking_through(Believing))

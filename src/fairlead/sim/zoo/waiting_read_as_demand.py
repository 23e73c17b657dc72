"""Zoo: an autoscaler takes replicas that wait for a reason to ask for more, which then wait as well."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import structs

from fairlead.model.views import AUTOSCALERS, PLANE_SETTINGS
from fairlead.sim.checkers.autoscaling import REACT_TO_BLOCKED
from fairlead.sim.zoo.wrapping import SpoiltView, looking_through, spoiling


class Unbounded(SpoiltView):
    """Every autoscaler reacts to what is blocked, and nothing bounds it. `LIMITS`: what settings say of it."""

    LIMITS: ClassVar[dict[str, float]] = {"amplificationMax": 1e6, "amplificationPerWindowMax": 1e6}

    def get(self, resource: Any, namespace: str, name: str) -> Any:
        found = self._inner.get(resource, namespace, name)
        if found is None:
            return None
        if resource.name == AUTOSCALERS.name:
            annotations = {**found.metadata.annotations, REACT_TO_BLOCKED: "true"}
            return structs.replace(found, metadata=structs.replace(found.metadata, annotations=annotations))
        if resource.name == PLANE_SETTINGS.name:
            numbers = {**(found.spec.get("autoscaling") or {}), **self.LIMITS}
            return structs.replace(found, spec={**found.spec, "autoscaling": numbers})
        return found


plant = spoiling("autoscaler", looking_through(Unbounded))

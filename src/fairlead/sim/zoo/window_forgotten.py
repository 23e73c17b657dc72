"""Zoo: an autoscaler forgets what it has added once its own policies look back to it no more: each look begins a window
of its own, and a number that the bound allows becomes the base of the next."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.model.views import AUTOSCALERS, PLANE_SETTINGS
from fairlead.sim.checkers.autoscaling import REACT_TO_BLOCKED
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import SpoiltView, looking_through, wrap


class Forgetful(SpoiltView):
    """It reacts to what is blocked, within the bound of a window that is no longer than the period of a policy."""

    def get(self, resource: Any, namespace: str, name: str) -> Any:
        found = self._inner.get(resource, namespace, name)
        if found is None:
            return None
        if resource.name == AUTOSCALERS.name:
            annotations = {**found.metadata.annotations, REACT_TO_BLOCKED: "true"}
            return structs.replace(found, metadata=structs.replace(found.metadata, annotations=annotations))
        if resource.name == PLANE_SETTINGS.name:
            given = found.spec.get("autoscaling") or {}
            numbers = {**given, "amplificationMax": 1e6, "amplificationWindowSeconds": 1.0}
            return structs.replace(found, spec={**found.spec, "autoscaling": numbers})
        return found


def plant(parts: Parts) -> Parts:
    return wrap(parts, "autoscaler", looking_through(Forgetful))

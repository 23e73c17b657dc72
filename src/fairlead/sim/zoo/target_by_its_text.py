"""A controller that takes an override to be about a Deployment only if its target says so to the letter: one for
`workload/web`, or for the namespace, does not hold it, though its status says that it does."""

from __future__ import annotations

from typing import Any

from fairlead.model.views import OVERRIDES, Resource
from fairlead.sim.zoo.wrapping import SpoiltView, looking_through, spoiling


class ToTheLetter(SpoiltView):
    def list(self, resource: Resource[Any], namespace: str = "") -> Any:
        found = self._inner.list(resource, namespace)
        if resource.name != OVERRIDES.name:
            return found
        return [each for each in found if each.spec.target.startswith("deployment/")]


plant = spoiling("deployment", looking_through(ToTheLetter))

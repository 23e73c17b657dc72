"""Zoo: an autoscaler keeps to the bounds that it read first, whatever people have made of them since."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.model.views import AUTOSCALERS, AutoscalerSpec
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import SpoiltView, looking_through, wrap


def plant(parts: Parts) -> Parts:
    first: dict[str, AutoscalerSpec] = {}

    class FirstSpec(SpoiltView):
        def get(self, resource: Any, namespace: str, name: str) -> Any:
            found = self._inner.get(resource, namespace, name)
            if found is None or resource.name != AUTOSCALERS.name:
                return found
            spec = first.setdefault(found.metadata.uid, found.spec)
            return structs.replace(found, spec=spec)

    return wrap(parts, "autoscaler", looking_through(FirstSpec))

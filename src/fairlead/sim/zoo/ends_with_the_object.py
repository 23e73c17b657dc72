"""A drain that goes on as long as its override exists: to remove what has ended is left to a clean-up."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.ledger.override import end_of
from fairlead.model.views import OVERRIDES, Resource, SchedulerOverride
from fairlead.sim.zoo.wrapping import SpoiltView, looking_through, spoiling

_MUCH_LATER_SECONDS = 86400.0


class NeverEnding(SpoiltView):
    def list(self, resource: Resource[Any], namespace: str = "") -> Any:
        found = self._inner.list(resource, namespace)
        return [_prolonged(each) for each in found] if resource.name == OVERRIDES.name else found


def _prolonged(override: SchedulerOverride) -> SchedulerOverride:
    later = timestamp(end_of(override) + _MUCH_LATER_SECONDS)
    return structs.replace(override, spec=structs.replace(override.spec, expires_at=later))


plant = spoiling("override-drain", looking_through(NeverEnding))

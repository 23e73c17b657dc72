"""What a mirror does not show of an owner's dependents is taken not to be there, though its watch may lag."""

from __future__ import annotations

from typing import Any

from fairlead.model.views import Resource
from fairlead.sim.zoo.wrapping import SpoiltView, looking_through, spoiling


class SureView(SpoiltView):
    """One that claims to show everything."""

    def shows(self, resource: Resource[Any], revision: int) -> bool:
        return True


plant = spoiling("garbage-collector", looking_through(SureView))

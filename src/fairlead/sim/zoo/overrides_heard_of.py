"""A scheduler that knows of overrides what it was told while it led: whoever takes over closes nothing."""

from __future__ import annotations

from typing import Any, ClassVar

from fairlead.control.placing import Placer
from fairlead.model.views import OVERRIDES, Resource
from fairlead.sim.parts import replacing


class HearsayPlacer(Placer):
    reads: ClassVar[tuple[Resource[Any], ...]] = tuple(
        each for each in Placer.reads if each.name != OVERRIDES.name
    )


plant = replacing(scheduler=HearsayPlacer)

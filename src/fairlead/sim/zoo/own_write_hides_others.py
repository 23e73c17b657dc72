"""A turn is left out because the object is as the controller wrote it, although something else changed meanwhile."""

from __future__ import annotations

from typing import Any

from fairlead.control.needless import Needless
from fairlead.control.plane import Plane
from fairlead.model.key import Key
from fairlead.sim.parts import replacing


class _Careless(Needless):
    def is_own(self, key: Key, cause: Key | None) -> bool:
        return super().is_own(key, key)


class CarelessPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        for controller in self.controllers:
            controller.needless = _Careless(lambda key: self._sources.view().revision_of(key))


plant = replacing(plane=CarelessPlane)

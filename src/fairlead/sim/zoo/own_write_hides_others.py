"""A turn is left out because the object is as the controller wrote it, although something else changed meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.control.needless import Needless
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.port.capabilities import FAIRLEAD, Capabilities
from fairlead.sim.parts import replacing


class _Careless(Needless):
    def is_own(self, key: Key, cause: Key | None) -> bool:
        return super().is_own(key, key)


class CarelessPlane(Plane):
    def __init__(
        self,
        identity: str,
        deciders: Sequence[Decider],
        scheduler: type[Placer] | None = None,
        capabilities: Capabilities = FAIRLEAD,
    ) -> None:
        super().__init__(identity, deciders, scheduler, capabilities)
        for controller in self.controllers:
            controller.needless = _Careless(lambda key: self._sources.view().revision_of(key))


plant = replacing(plane=CarelessPlane)

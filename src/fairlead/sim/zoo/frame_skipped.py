"""A mirror that notes the revision of a change and forgets the change: of nodes, every so-manieth."""

from __future__ import annotations

from typing import Any

from fairlead.cache.events import Framed, Instruction
from fairlead.cache.mirror import Mirror
from fairlead.control.plane import Plane
from fairlead.model.views import NODES
from fairlead.sim.parts import replacing

_EVERY = 3


class SkippingMirror(Mirror[Any]):
    def _framed(self, event: Framed) -> tuple[Instruction, ...]:
        if (self.frames + self.ignored) % _EVERY or event.entry.revision <= self.revision:
            return super()._framed(event)
        self.ignored += 1
        self.revision = event.entry.revision
        return ()


class SkippingPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        sound = self.mirrors[NODES.name]
        sound.__class__ = SkippingMirror


plant = replacing(plane=SkippingPlane)

"""Zoo 13: a mirror takes whatever a list brings for the newest, also that of a replica which is behind."""

from __future__ import annotations

from typing import Any

from fairlead.cache.events import Instruction, Listed
from fairlead.cache.mirror import Mirror
from fairlead.control.plane import Plane
from fairlead.sim.parts import replacing


class CredulousMirror(Mirror[Any]):
    def _listed(self, event: Listed) -> tuple[Instruction, ...]:
        self.revision = min(self.revision, event.revision)
        return super()._listed(event)


class CredulousPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        for name, each in self.mirrors.items():
            self.mirrors[name] = CredulousMirror(each.resource)
            self.mirrors[name].failure_detector = each.failure_detector


plant = replacing(plane=CredulousPlane)

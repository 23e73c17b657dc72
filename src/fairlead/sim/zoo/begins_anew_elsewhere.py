"""A mirror whose watch broke begins anew with whatever server answers, as if it had seen nothing: time travel."""

from __future__ import annotations

from typing import Any

from fairlead.cache.events import Broke, Instruction, Listed
from fairlead.cache.mirror import Mirror, MirrorPhase
from fairlead.control.plane import Plane
from fairlead.sim.parts import replacing


class ForgetfulMirror(Mirror[Any]):
    _begins_anew = False

    def _broke(self, event: Broke) -> tuple[Instruction, ...]:
        self._begins_anew = True
        following, resting = MirrorPhase.FOLLOWING, MirrorPhase.RESTING
        return self._failed(event.reason, event.now, event.attempt, following, resting)

    def _listed(self, event: Listed) -> tuple[Instruction, ...]:
        if self._begins_anew:
            self.revision = min(self.revision, event.revision)
        self._begins_anew = False
        return super()._listed(event)


class TravellingPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        for name, each in self.mirrors.items():
            self.mirrors[name] = ForgetfulMirror(each.resource)
            self.mirrors[name].failure_detector = each.failure_detector


plant = replacing(plane=TravellingPlane)

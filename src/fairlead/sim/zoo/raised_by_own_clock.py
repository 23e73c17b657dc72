"""A scheduler that judges by its own clock alone whether an override still raises a pod: the server is not asked."""

from __future__ import annotations

from fairlead.control.placing import Placer
from fairlead.model.premise import Premise
from fairlead.model.views import Pod
from fairlead.sim.parts import replacing


class SelfAssuredPlacer(Placer):
    def _rests_on(self, pod: Pod) -> tuple[Premise, ...]:
        return ()


plant = replacing(scheduler=SelfAssuredPlacer)

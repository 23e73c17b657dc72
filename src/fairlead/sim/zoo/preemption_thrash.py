"""Zoo 20: a claim to the room that victims leave is not kept: others take it, and more are evicted for the same pod."""

from __future__ import annotations

from fairlead.control.instructions import Outbox
from fairlead.control.placing import Placer
from fairlead.sim.parts import replacing


class ThrashingPlacer(Placer):
    def step(self, now: float, out: Outbox) -> None:
        for key, placed in list(self.snapshot.placed.items()):
            if placed.nominated:
                self.snapshot.release(key)
        super().step(now, out)


plant = replacing(scheduler=ThrashingPlacer)

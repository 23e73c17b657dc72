"""Several bindings go as one request, and that it was answered is taken to mean that all of them were made."""

from __future__ import annotations

from fairlead.control.instructions import Outbox
from fairlead.control.placing import Placer
from fairlead.port.outcome import Done, Outcome
from fairlead.sim.parts import replacing


class TrustingPlacer(Placer):
    def answered(self, call: int, outcome: Outcome, now: float, chance: float, out: Outbox) -> None:
        if isinstance(outcome, Done) and outcome.each:
            outcome = Done(each=(True,) * len(outcome.each))
        super().answered(call, outcome, now, chance, out)


plant = replacing(scheduler=TrustingPlacer)

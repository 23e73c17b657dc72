"""Zoo 12, of placements: a binding without an answer is taken for refused, and another node is chosen."""

from __future__ import annotations

from fairlead.control.instructions import Outbox
from fairlead.control.placing import Placer
from fairlead.port.outcome import Outcome, Refused, Unknown
from fairlead.sim.parts import replacing


class HastyPlacer(Placer):
    def answered(self, call: int, outcome: Outcome, now: float, chance: float, out: Outbox) -> None:
        self._together = False  # what is refused together would be asked for alone, and for the same node
        flights = self.flights.underway.calls.get(call, ())
        if isinstance(outcome, Unknown) and any(flight.binds for flight in flights):
            outcome = Refused(503, "ServiceUnavailable", "it did not happen, or did it?", "later")
        super().answered(call, outcome, now, chance, out)


plant = replacing(scheduler=HastyPlacer)

"""Zoo 12: a timeout is taken for a refusal, so what was done is done once more (under another name)."""

from __future__ import annotations

from msgspec import structs

from fairlead.control.instructions import Answers, PlaneEvent, PlaneInstruction, Replied
from fairlead.control.plane import Plane
from fairlead.port.outcome import Refused, Unknown
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import fresh_names, wrap


class HastyPlane(Plane):
    def handle(self, event: PlaneEvent) -> tuple[PlaneInstruction, ...]:
        if isinstance(event, Answers):
            event = Answers(tuple(map(self._misread, event.replies)))
        return super().handle(event)

    def _misread(self, event: Replied) -> Replied:
        if isinstance(event.outcome, Unknown) and not self.leadership.answers(event.call):
            refused = Refused(503, "ServiceUnavailable", "it did not happen, or did it?", "later")
            return structs.replace(event, outcome=refused)
        return event


def plant(parts: Parts) -> Parts:
    return {**wrap(parts, "replicaset", fresh_names), "plane": HastyPlane}

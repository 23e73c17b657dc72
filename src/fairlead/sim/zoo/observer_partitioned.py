"""Zoo 22: whoever hears no heartbeats takes everybody for dead, although it is itself the one that is cut off.

Two defences are gone at once, since either alone keeps everybody safe: silence is counted by the clock, whether or not
anything could have been heard; and what follows from it commits whatever the lease says by then.
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.control.instructions import PlaneEvent, PlaneInstruction
from fairlead.control.plane import Plane
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Change, ChangeStatus
from fairlead.decision.failure_detector import FailureDetector
from fairlead.model.key import Key
from fairlead.model.views import LEASES
from fairlead.port.driving import Woke
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import deciding, wrap


@deciding
def convinced(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    """What it holds for true needs no premise."""
    decision = inner.decide(view, key, now)
    effects = tuple(
        structs.replace(each, premises=()) if isinstance(each, (Change, ChangeStatus)) else each
        for each in decision.effects
    )
    return structs.replace(decision, effects=effects)


class ImpatientHearing(FailureDetector):
    """Knows no time in which nothing could be heard."""

    def heartbeat(self, now: float) -> None:
        self.heard_at = max(self.heard_at, now)


class ImpatientPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.mirrors[LEASES.name].failure_detector = ImpatientHearing()

    def handle(self, event: PlaneEvent) -> tuple[PlaneInstruction, ...]:
        hearing = self.mirrors[LEASES.name].failure_detector
        if isinstance(event, Woke) and not event.timer and hearing is not None and hearing.heard_at:
            hearing.heartbeat(event.now)
        return super().handle(event)


def plant(parts: Parts) -> Parts:
    spoilt = wrap(wrap(parts, "node-health", convinced), "release", convinced)
    return {**spoilt, "plane": ImpatientPlane}

"""Zoo 22: whoever hears no heartbeats takes everybody for dead, although it is itself the one that is cut off.

Two defences are gone at once, since either alone keeps everybody safe: silence is counted by the clock, whether or not
anything could have been heard; and what follows from it commits whatever the lease says by then.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from fairlead.control.instructions import PlaneInstruction, Woke
from fairlead.control.plane import Plane
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.effects import Change, ChangeStatus
from fairlead.decision.hearing import Hearing
from fairlead.model.views import LEASES
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import Wrapped, wrap
from fairlead.store.contract import Key


class Convinced(Wrapped):
    """What it holds for true needs no premise."""

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        decision = self.inner.decide(view, key, now)
        effects = tuple(
            structs.replace(each, premise="") if isinstance(each, (Change, ChangeStatus)) else each
            for each in decision.effects
        )
        return structs.replace(decision, effects=effects)


class ImpatientHearing(Hearing):
    """Knows no time in which nothing could be heard."""

    def heard(self, now: float) -> None:
        self.heard_at = max(self.heard_at, now)


class ImpatientPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.mirrors[LEASES.name].hearing = ImpatientHearing()

    def woke(self, event: Woke) -> Iterator[PlaneInstruction]:
        hearing = self.mirrors[LEASES.name].hearing
        if hearing is not None and hearing.heard_at:
            hearing.heard(event.now)
        return super().woke(event)


def plant(parts: Parts) -> Parts:
    convinced = wrap(wrap(parts, "node-health", Convinced), "release", Convinced)
    return {**convinced, "plane": ImpatientPlane}

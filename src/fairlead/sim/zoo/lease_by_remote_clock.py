"""Whether a lease has run out is judged by the time that its holder wrote into it, on the holder's clock."""

from __future__ import annotations

from typing import Any

from fairlead.control.leadership import Leadership, LeadershipInstruction
from fairlead.control.plane import Plane
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.port.outcome import Done, Outcome
from fairlead.sim.parts import Parts


class ByTheirClock(Leadership):
    def _lease_was_read(self, outcome: Outcome, now: float) -> tuple[LeadershipInstruction, ...]:
        if isinstance(outcome, Done):
            lease = codec.decode(outcome.body)
            spec, revision = lease["spec"], int(lease["metadata"]["resourceVersion"])
            self._seen, self._seen_at = (spec["holderIdentity"], revision), parse_time(spec["renewTime"])
        return super()._lease_was_read(outcome, now)


class ByTheirClockPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.leadership.__class__ = ByTheirClock


def plant(parts: Parts) -> Parts:
    return {**parts, "plane": ByTheirClockPlane}

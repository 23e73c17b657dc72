"""A lease is judged by the time that its holder wrote into it: whoever's clock is ahead takes it while it is held.

Where writes are fenced nothing comes of it but that leaders change without need; `leases-run-out` sees it all the same.
"""

from __future__ import annotations

from typing import Any

from fairlead.control.leadership import Leadership, LeadershipInstruction
from fairlead.control.plane import Plane
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.port.outcome import Done, Outcome
from fairlead.sim.parts import replacing


class RemoteClock(Leadership):
    def _lease_was_read(self, outcome: Outcome, now: float) -> tuple[LeadershipInstruction, ...]:
        if isinstance(outcome, Done):
            lease = codec.decode(outcome.body)
            spec = lease["spec"]
            self._seen = (str(spec.get("holderIdentity", "")), int(lease["metadata"]["resourceVersion"]))
            self._seen_at = parse_time(spec["renewTime"])
        return super()._lease_was_read(outcome, now)


class RemoteClockPlane(Plane):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.leadership.__class__ = RemoteClock


plant = replacing(plane=RemoteClockPlane)

"""led-at-rest: when the faults are over, some plane holds the lease and renews it."""

from __future__ import annotations

from fairlead.control.leadership import FENCE, LEASE
from fairlead.model.views import LEASES
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_RENEWED_SECONDS = 60.0


class LedAtRest:
    name = "led-at-rest"
    sees = frozenset({LEASES.name})

    def __init__(self) -> None:
        self._renewed_at: float | None = None

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource == LEASES.name and sight.key.name in (LEASE, FENCE):
            self._renewed_at = sight.seconds

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        if self._renewed_at is not None and seconds - self._renewed_at > _RENEWED_SECONDS:
            raise Violation(self.name, f"nobody has renewed the plane's lease since {self._renewed_at:.0f} s")

"""At most one active Reservation per owner and intent, at every revision."""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.model.views import RESERVATIONS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

ACTIVE = ("Active", "Allocated")


class OneReservation:
    name = "one-reservation"
    sees = frozenset({RESERVATIONS.name})

    def __init__(self) -> None:
        self._active: dict[tuple[str, str], set[Key]] = {}

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource != RESERVATIONS.name:
            return
        spec = sight.last.spec
        purpose = (spec.owner.uid, spec.intent)
        held = self._active.setdefault(purpose, set())
        if sight.after is None or sight.after.status.phase not in ACTIVE:
            held.discard(sight.key)
            if not held:
                del self._active[purpose]
            return
        held.add(sight.key)
        if len(held) > 1:
            names = ", ".join(sorted(key.name for key in held))
            raise Violation(self.name, f"{spec.owner.name} holds {names} for {spec.intent}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

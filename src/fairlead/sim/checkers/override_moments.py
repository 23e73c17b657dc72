"""Moments that overrides are made for, counted: that a world draws one says little if it never bore on anything.

Looks on like a checker, and judges nothing. `tests/sim/coverage.py` says which of these a sample of seeds must have
met.
"""

from __future__ import annotations

from fairlead.ledger import override as ledger
from fairlead.model.views import OVERRIDES, PODS, RESERVATIONS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange

KEEPS_WAITING = "an override keeps a pod without a node"
LENDS_ROOM = "a pod uses room that an override lends"
LEAVES_RESIDUE = "an override has ended and left something"
APPROVED = "a second person approves an override"
MOMENTS = (KEEPS_WAITING, LENDS_ROOM, LEAVES_RESIDUE, APPROVED)

_CLOSED_BY = "closed by SchedulerOverride"


class OverrideMoments:
    name = "override-moments"
    outlives_loss = True
    sees = frozenset({OVERRIDES.name, PODS.name, RESERVATIONS.name})

    def __init__(self, counts: dict[str, int]) -> None:
        self._counts = counts

    def saw(self, sight: SeenChange) -> None:
        after = sight.after
        if after is None:
            return
        resource = sight.key.resource
        if resource == PODS.name:
            waits = not after.spec.node_name and any(
                _CLOSED_BY in each.message for each in after.status.conditions
            )
            self._count(KEEPS_WAITING, waits)
        elif resource == RESERVATIONS.name:
            lent = ledger.made_for(after.metadata) is not None and after.status.allocated_to is not None
            self._count(LENDS_ROOM, lent)
        elif resource == OVERRIDES.name:
            self._count(LEAVES_RESIDUE, bool(after.status.residue))
            self._count(APPROVED, bool(after.spec.approval) and ledger.is_approved(after))

    def _count(self, moment: str, happened: bool) -> None:
        if happened:
            self._counts[moment] = self._counts.get(moment, 0) + 1

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Rest is no such moment."""

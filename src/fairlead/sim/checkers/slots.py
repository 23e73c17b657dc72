"""slots-run-once: an instant of a CronJob has one Job, also after that was forgotten and the clock shows it again."""

from __future__ import annotations

from fairlead.model.views import JOBS
from fairlead.reconcile.job.cronjob import SCHEDULED_AT
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class SlotsRunOnce:
    name = "slots-run-once"
    sees = frozenset({JOBS.name})

    def __init__(self) -> None:
        self._jobs: dict[tuple[str, str], str] = {}  # CronJob and instant -> uid

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource != JOBS.name or sight.before is not None or sight.after is None:
            return
        meta = sight.after.metadata
        slot, owner = meta.annotations.get(SCHEDULED_AT), meta.controller
        if slot is None or owner is None:
            return
        if self._jobs.setdefault((owner.uid, slot), meta.uid) != meta.uid:
            raise Violation(self.name, f"{owner.name} runs its instant {slot} a second time, as {meta.name}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

"""What must hold whatever is done to wall clocks.

slots-run-once     an instant of a CronJob has one Job, also after that was forgotten and the clock shows it again
events-flow        where pods are bound, people are told: Events do not wait for a clock to come back
led-at-rest        when the faults are over, some plane holds the lease and renews it
"""

from __future__ import annotations

from fairlead.control.leadership import FENCE, LEASE
from fairlead.model.views import JOBS, LEASES, PODS
from fairlead.reconcile.job.cronjob import SCHEDULED_AT
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

# Those of a few may have been lost with planes that crashed and requests that were lost.
_UNTOLD_MAX = 5
_UNTOLD_SECONDS = 60.0
_RENEWED_SECONDS = 60.0


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


class EventsFlow:
    name = "events-flow"
    sees = frozenset({"events", PODS.name})

    def __init__(self) -> None:
        self._untold: list[float] = []  # when pods were bound since an Event was last written

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource == "events":
            self._untold.clear()
        elif sight.key.resource == PODS.name and sight.by_scheduler and _is_binding(sight):
            self._untold.append(sight.seconds)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        waited = [at for at in self._untold if at < seconds - _UNTOLD_SECONDS]
        if len(waited) > _UNTOLD_MAX:
            raise Violation(
                self.name, f"{len(waited)} pods were bound since {waited[0]:.0f} s, and no Event was written"
            )


def _is_binding(sight: SeenChange) -> bool:
    before, after = sight.before, sight.after
    return after is not None and bool(after.spec.node_name) and not (before and before.spec.node_name)


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

"""What is finished stays finished: no pod begins for a Job that is complete or failed, and no Job takes that back.

Judged at the very revision: a create commits only while the Job is as it was (its premise). Where the API judges no
premises, one that was on its way when the Job finished is allowed for as long as a request may be (`lag_seconds`).
"""

from __future__ import annotations

from typing import Any

from fairlead.model.views import JOBS, PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class FinishedJobs:
    name = "finished-jobs"
    sees = frozenset({JOBS.name, PODS.name})

    def __init__(self, lag_seconds: float = 0.0) -> None:
        self._lag_seconds = lag_seconds
        self._finished: dict[str, float] = {}  # uid -> since when

    def saw(self, sight: SeenChange) -> None:
        resource = sight.key.resource
        if resource == JOBS.name:
            self._job(sight)
        elif resource == PODS.name and self._finished and sight.before is None and sight.last.live:
            owner = sight.last.metadata.controller
            since = self._finished.get(owner.uid) if owner is not None else None
            if since is not None and sight.seconds - since >= self._lag_seconds:
                raise Violation(self.name, f"{sight.key.name} begins, but {owner.name} has finished")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _job(self, sight: SeenChange) -> None:
        uid = sight.last.metadata.uid
        if _has_finished(sight.last):
            self._finished.setdefault(uid, sight.seconds)
        elif uid in self._finished:
            raise Violation(self.name, f"{sight.key.name} had finished, and now has not")


def _has_finished(job: Any) -> bool:
    return any(
        each.type in ("Complete", "Failed") and each.status == "True" for each in job.status.conditions
    )

"""outlives-the-plane: no process ends because the control plane is away, but those of which at most one may run.

Judged from what ended a run (`sim/processes/runs.py`). A supervisor may end a process by its deadline only if at most
one of its pod may run, or the pod's status still says so, as where its StatefulSet went without it and the plane counts
on that word; and because it was told to only if the pod's object is gone, is being deleted or has finished.
That processes end by themselves, or with their machine, is nobody's fault.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.at_most_one import accepted_seconds, is_at_most_one
from fairlead.model.views import PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.processes.runs import CLOSED, DEADLINE, STOPPED, ProcessRun
from fairlead.sim.violation import Violation


class OutlivesThePlane:
    name = "outlives-the-plane"
    sees = frozenset({PODS.name})

    def __init__(self) -> None:
        self._pods: dict[str, Any] = {}  # uid -> the newest that was committed

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource != PODS.name:
            return
        if sight.after is None:
            self._pods.pop(sight.last.metadata.uid, None)
        else:
            self._pods[sight.after.metadata.uid] = sight.after

    def began(self, run: ProcessRun) -> None:
        """Says nothing about beginnings."""

    def ended(self, run: ProcessRun) -> None:
        pod = self._pods.get(run.uid)
        if pod is None or pod.metadata.deletion_timestamp or pod.finished:
            return
        wanted = is_at_most_one(pod.metadata) or accepted_seconds(pod.status.conditions) is not None
        if run.cause in (STOPPED, CLOSED) or (run.cause == DEADLINE and not wanted):
            raise Violation(self.name, f"{run} was ended ({run.cause}), and nobody had asked for that")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

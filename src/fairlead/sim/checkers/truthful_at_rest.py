"""truthful-at-rest: at rest every process belongs to a pod that says so, and every pod that says so has its process."""

from __future__ import annotations

from typing import Any

from fairlead.model.views import PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.processes.runs import ProcessRun
from fairlead.sim.violation import Violation


class TruthfulAtRest:
    name = "truthful-at-rest"
    sees: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._running: dict[ProcessRun, None] = {}
        self._nodes: set[str] = set()

    def saw(self, sight: SeenChange) -> None:
        """On the way a status may lag behind."""

    def began(self, run: ProcessRun) -> None:
        self._running[run] = None
        self._nodes.add(run.node)

    def ended(self, run: ProcessRun) -> None:
        self._running.pop(run, None)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        told: dict[tuple[str, str, int], str] = {}
        for pod in objects.of(PODS.name).values():
            if pod.spec.node_name in self._nodes:
                told.update(_said_to_run(pod))
        runs = {(run.uid, run.container, run.attempt): run for run in self._running}
        for key, run in runs.items():
            if told.get(key) != run.node:
                raise Violation(self.name, f"{run} runs, and no pod says so")
        for (uid, container, attempt), node in told.items():
            if (uid, container, attempt) not in runs:
                raise Violation(
                    self.name,
                    f"pod {uid} says that {container} run {attempt} runs on {node}, where it does not",
                )


def _said_to_run(pod: Any) -> dict[tuple[str, str, int], str]:
    return {
        (pod.metadata.uid, each["name"], int(each.get("restartCount") or 0)): pod.spec.node_name
        for each in pod.status.container_statuses
        if (each.get("state") or {}).get("running") is not None
    }

"""What processes really did, judged from their runs on the machines and not from anybody's status.

at-most-one        pods of which at most one may run: never two of a place at a time
runs-once          no (pod, container, attempt) is run twice, and no container of a pod twice at a time
truthful-at-rest   at rest every process belongs to a pod that says so, and every pod that says so has its process
"""

from __future__ import annotations

from typing import Any

from fairlead.model.marks import AT_MOST_ONE
from fairlead.model.views import PODS, REPLICASETS, STATEFULSETS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.processes.runs import ProcessRun
from fairlead.sim.violation import Violation


class AtMostOne:
    """A place is a StatefulSet's ordinal, which one may have; or a ReplicaSet, which as many may have as it wants."""

    name = "at-most-one"
    sees = frozenset({REPLICASETS.name, PODS.name})

    def __init__(self) -> None:
        self._place_of: dict[str, str] = {}  # uid of a pod -> its place
        self._wanted: dict[
            str, int
        ] = {}  # uid of a ReplicaSet -> the most it wanted since a pod of it was begun
        self._running: dict[str, dict[ProcessRun, None]] = {}  # place -> runs

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource == REPLICASETS.name:
            self._wanted[sight.last.metadata.uid] = sight.last.spec.replicas
        elif sight.key.resource == PODS.name:
            meta = sight.last.metadata
            owner = meta.controller
            if owner is None or meta.uid in self._place_of:
                return
            if owner.kind == STATEFULSETS.kind:
                self._place_of[meta.uid] = f"{meta.namespace}/{meta.name}"
            elif meta.annotations.get(AT_MOST_ONE) == "true":
                self._place_of[meta.uid] = owner.uid

    def began(self, run: ProcessRun) -> None:
        place = self._place_of.get(run.uid)
        if place is None:
            return
        runs = self._running.setdefault(place, {})
        runs[run] = None
        if len({each.uid for each in runs}) > self._wanted.get(place, 1):
            told = " and ".join(str(each) for each in runs)
            raise Violation(self.name, f"{told} run at once")

    def ended(self, run: ProcessRun) -> None:
        place = self._place_of.get(run.uid)
        if place is not None:
            self._running[place].pop(run, None)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """What runs at rest is judged below."""


class RunsOnce:
    name = "runs-once"
    sees: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._begun: dict[tuple[str, str, int], ProcessRun] = {}
        self._running: dict[tuple[str, str], ProcessRun] = {}

    def saw(self, sight: SeenChange) -> None:
        """Judges by runs alone."""

    def began(self, run: ProcessRun) -> None:
        key = (run.uid, run.container, run.attempt)
        if key in self._begun:
            raise Violation(self.name, f"{run} was begun a second time")
        other = self._running.get((run.uid, run.container))
        if other is not None:
            raise Violation(self.name, f"{run} began while {other} runs")
        self._begun[key] = self._running[run.uid, run.container] = run

    def ended(self, run: ProcessRun) -> None:
        self._running.pop((run.uid, run.container), None)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""


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

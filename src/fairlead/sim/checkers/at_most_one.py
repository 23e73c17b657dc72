"""at-most-one: of pods of which at most one may run there are never two of a place at a time.

Judged from their runs on the machines, and not from anybody's status.
"""

from __future__ import annotations

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
        """What runs at rest is judged by `truthful-at-rest`."""

"""runs-once: no (pod, container, attempt) is run twice, and no container of a pod twice at a time."""

from __future__ import annotations

from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.processes.runs import ProcessRun
from fairlead.sim.violation import Violation


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

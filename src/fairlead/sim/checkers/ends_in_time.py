"""ends-in-time: nothing of a pod runs later after its node's last renewal than the deadline that its status tells."""

from __future__ import annotations

from fairlead.model.views import LEASES, PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.silence import SLACK, Renewals
from fairlead.sim.processes.runs import ProcessRun
from fairlead.sim.violation import Violation


class EndsInTime:
    name = "ends-in-time"
    sees = frozenset({LEASES.name, PODS.name})

    def __init__(self) -> None:
        self._renewals = Renewals()

    def saw(self, sight: SeenChange) -> None:
        self._renewals.saw(sight)

    def began(self, run: ProcessRun) -> None:
        self._judge(run, run.since_ms, "began")

    def ended(self, run: ProcessRun) -> None:
        self._judge(run, run.until_ms or 0, "ran")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _judge(self, run: ProcessRun, ms: int, what: str) -> None:
        renewed, told = self._renewals.at.get(run.node, 0.0), self._renewals.deadlines.get(run.uid)
        if told is not None and ms / 1000 > renewed + told + SLACK:
            raise Violation(
                self.name, f"{run} {what} at {ms / 1000:.1f} s; {run.node} was last heard at {renewed}"
            )

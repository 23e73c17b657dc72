"""A failing run as a case that can be run again, edited and shrunk: from a run to its case, and from a case to a run.

`case_of` takes down all that was not calm in a run. `CaseJudge` runs a case with the same plant and says whether it
breaks the same invariant; what it returns names only choices that were really made, so that whatever an earlier end
made superfluous is gone. Used by shrinking and artifacts.
"""

from __future__ import annotations

from fairlead.sim.chance import Chance
from fairlead.sim.faults import Faults
from fairlead.sim.run import Runner
from fairlead.sim.scenario import Scenario
from fairlead.sim.shrink import Case
from fairlead.sim.violation import Violation
from fairlead.sim.world import Run


def case_of(scenario: Scenario, faults: Faults, run: Run) -> Case:
    chosen = tuple(((each[0], each[1], each[2]), each[4], each[5]) for each in run.chance.choices if each[4])
    return Case(scenario, faults, chosen)


class CaseJudge:
    def __init__(self, plant: str, invariant: str) -> None:
        self._plant, self._invariant = plant, invariant
        self._runner: Runner | None = None

    def __call__(self, case: Case) -> Case | None:
        run = self.play(case)
        if run is None or run.violation is None or run.violation.invariant != self._invariant:
            return None
        return case_of(case.scenario, case.faults_of, run)

    def play(self, case: Case, trail: bool = False) -> Run | None:
        """None if the world makes no sense without faults either."""
        try:
            return self._runner_of(case).play(Chance(0, case.forced, calm=True), trail, case.faults_of)
        except Violation:
            return None

    def _runner_of(self, case: Case) -> Runner:
        if self._runner is None or self._runner.scenario is not case.scenario:
            self._runner = Runner(case.scenario, case.faults_of, self._plant)
        return self._runner

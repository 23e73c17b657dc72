"""A failing run as a case that can be run again, edited and shrunk: from a run to its case, and from a case to a run.

`case_of` takes down all that was not calm in a run. `CaseJudge` runs a case with the same plant and says whether it
breaks the same invariant (an exception: of the same type); what it returns names only choices that were really made, so
that whatever an earlier end made superfluous is gone. A smaller world must be one that the code without the plant
survives. Used by shrinking and artifacts.
"""

from __future__ import annotations

from fairlead.sim.chance import Chance
from fairlead.sim.faults import Faults
from fairlead.sim.run import Runner, before
from fairlead.sim.scenario import Scenario
from fairlead.sim.shrink import Case
from fairlead.sim.violation import Violation
from fairlead.sim.world import Run

_LONGER, _SLACK_SECONDS = 1.5, 15.0


def case_of(scenario: Scenario, faults: Faults, run: Run) -> Case:
    chosen = tuple(((each[0], each[1], each[2]), each[4], each[5]) for each in run.chance.choices if each[4])
    return Case(scenario, faults, chosen)


def _is_same(one: Violation, other: Violation) -> bool:
    return one.invariant == other.invariant and type(one.__cause__) is type(other.__cause__)


class CaseJudge:
    def __init__(self, plant: str, broken: Violation, seconds: float) -> None:
        """`seconds`: after which it was broken. A case that is sound for half as long again as the last one that broke
        is taken for sound, unless that one had come to rest: most of what is tried then costs a fraction."""
        self._plant, self._broken, self._seconds = plant, broken, seconds
        self._rested: bool | None = None  # before it broke, the last one that did; None: not known yet
        self._runner: Runner | None = None
        self._whole: Scenario | None = None  # of the first case, before anything was taken away

    def __call__(self, case: Case) -> Case | None:
        run = self.play(case)
        if run is None or run.violation is None or not _is_same(run.violation, self._broken):
            return None
        if self._plant and not self._is_sound(case):
            return None
        self._seconds, self._rested = run.seconds, run.rested_at is not None
        return case_of(case.scenario, case.faults_of, run)

    def _is_sound(self, case: Case) -> bool:
        """A world with less in it may be one that not even code without the plant survives, with these faults or with
        fewer: such a case would tell nothing of the plant."""
        if self._whole is None:
            self._whole = case.scenario  # worlds as they are survive: the soak sees to that
        if case.scenario is self._whole:
            return True
        try:
            sound = Runner(case.scenario, case.faults_of, backup=self._runner_of(case).backup())
            run = sound.play(Chance(0, case.forced, calm=True))
        except Violation:
            return False
        return run.violation is None

    def play(self, case: Case, trail: bool = False) -> Run | None:
        """None if the world makes no sense without faults either."""
        try:
            chance = Chance(0, case.forced, calm=True)
            return self._runner_of(case).play(chance, trail, case.faults_of, self._stop(case.scenario))
        except Violation:
            return None

    def _stop(self, scenario: Scenario) -> float | None:
        may_rest = self._seconds >= scenario.faults_until_seconds if self._rested is None else self._rested
        return None if may_rest else self._seconds * _LONGER + _SLACK_SECONDS

    def _runner_of(self, case: Case) -> Runner:
        former = self._runner
        if former is None or former.scenario is not case.scenario:
            starts_alike = former is not None and before(former.scenario) == before(case.scenario)
            backup = former.backup() if former is not None and starts_alike else None
            self._runner = former = Runner(case.scenario, case.faults_of, self._plant, backup=backup)
        return former

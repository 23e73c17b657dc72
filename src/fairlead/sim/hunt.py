"""A hunt: search until something breaks, shrink it, and take it down as an artifact.

    hunt(runner, search, world, plant, cpu, limits) -> Hunted

Called by `fairlead sim zoo` for each planted bug, and by tests. Has no clock: `cpu` tells the seconds of processor
that were used so far, and whoever calls hands it in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairlead.replay.artifact import Artifact
from fairlead.sim.cases import CaseJudge, case_of
from fairlead.sim.player import FoundBy, record
from fairlead.sim.run import Runner
from fairlead.sim.search.contract import Search, SearchAttempt
from fairlead.sim.shrink import Case, Shrunk, shrink
from fairlead.sim.world import Run

Cpu = Callable[[], float]


@dataclass(frozen=True, slots=True)
class HuntLimits:
    search_seconds: float = 60.0
    shrink_seconds: float = 60.0
    attempts_max: int = 100_000


USUAL = HuntLimits()


@dataclass(frozen=True, slots=True)
class Hunted:
    attempts: int
    cpu_seconds: float  # of the search, without shrinking
    invariant: str = ""  # "": nothing was found
    message: str = ""
    told: str = ""  # what the search was trying
    seed: int = 0
    shrunk: Shrunk | None = None
    artifact: Artifact | None = None


def hunt(
    runner: Runner, search: Search, world: str, plant: str, cpu: Cpu, limits: HuntLimits = USUAL
) -> Hunted:
    started, attempts = cpu(), 0
    while attempts < limits.attempts_max and cpu() - started < limits.search_seconds:
        attempt = search.propose()
        if attempt is None:
            break
        attempts += 1
        run = runner.attempt(attempt)
        if run.violation is not None:
            spent = cpu() - started
            return _taken_down(runner, attempt, run, attempts, spent, search.name, world, plant, cpu, limits)
        search.learn(attempt, run)
    return Hunted(attempts, cpu() - started)


def _taken_down(
    runner: Runner,
    attempt: SearchAttempt,
    run: Run,
    attempts: int,
    spent: float,
    search: str,
    world: str,
    plant: str,
    cpu: Cpu,
    limits: HuntLimits,
) -> Hunted:
    broken = run.violation
    assert broken is not None
    world_of_seed = runner.at(attempt.seed)
    case = case_of(world_of_seed.scenario, attempt.faults or world_of_seed.faults, run)
    shrunk = shrink_case(case, plant, run, cpu, limits.shrink_seconds) if limits.shrink_seconds else None
    found = FoundBy(
        world, attempt.seed, attempt.search or search, attempt.told, shrunk.size_before if shrunk else 0
    )
    return Hunted(
        attempts=attempts,
        cpu_seconds=spent,
        invariant=broken.invariant,
        message=broken.message,
        told=attempt.told,
        seed=attempt.seed,
        shrunk=shrunk,
        artifact=record(shrunk.case if shrunk else case, plant, found),
    )


def shrink_case(case: Case, plant: str, run: Run, cpu: Cpu, seconds: float) -> Shrunk | None:
    """None if the case does not break when it is played again, which would be a fault of the simulator."""
    assert run.violation is not None
    judge = CaseJudge(plant, run.violation, run.seconds)
    if judge(case) is None:
        return None
    until = cpu() + seconds
    return shrink(case, judge, lambda: cpu() < until)

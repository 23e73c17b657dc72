"""A failing run as tests want it: found in the tiny world, and as an artifact; and what a failing seed leaves behind."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fairlead.replay.artifact import Artifact, write_artifact
from fairlead.sim.cases import case_of
from fairlead.sim.chance import Chance
from fairlead.sim.player import FoundBy, record
from fairlead.sim.run import Runner, RunTally
from fairlead.sim.shrink import Case
from fairlead.sim.world import Run
from tests.sim import tiny

LEFT_BEHIND = (
    Path(__file__).parents[2] / "sim-artifacts"
)  # ignored by git; CI uploads it when something fails

_KEPT_MAX = 3


@cache
def planted_run() -> tuple[Runner, Run]:
    runner = tiny.runner(tiny.PLANT)
    for seed in range(40):
        run = runner.play(Chance(seed), trail=True)
        if run.violation is not None:
            return runner, run
    raise AssertionError("the plant is not found in 40 seeds of the tiny world")


def planted_case() -> Case:
    runner, run = planted_run()
    return case_of(runner.scenario, runner.faults, run)


@cache
def planted_artifact() -> Artifact:
    return record(planted_case(), tiny.PLANT, FoundBy("tiny", run_seed()))


def run_seed() -> int:
    return planted_run()[1].chance.seed


def left_behind(runner: Runner, seed: int, world: str, plant: str = "", folder: Path = LEFT_BEHIND) -> str:
    """Of a seed that should not have failed: where its artifact is now, in a few words for the assertion."""
    runner = runner.at(seed)
    run = runner.play(Chance(seed))
    if run.violation is None:
        return f"seed {seed} of {world} does not fail when it is played again"
    artifact = record(case_of(runner.scenario, runner.faults, run), plant, FoundBy(world, seed))
    folder.mkdir(exist_ok=True)
    file = folder / f"{world}-{seed}-{run.violation.invariant}.jsonl"
    file.write_bytes(write_artifact(artifact))
    return f"{run.violation}; see `fairlead sim show {file}`"


def failed(runner: Runner, tally: RunTally, world: str) -> list[str]:
    """A line per failure; of the first few an artifact is left behind."""
    told = [f"{each.seed}: {each.invariant}: {each.message} {each.drew}".rstrip() for each in tally.failures]
    kept = [left_behind(runner, each.seed, world) for each in tally.failures[:_KEPT_MAX]]
    return [*kept, *told[_KEPT_MAX:]]

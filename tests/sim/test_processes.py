"""Seeds over several processes: the same findings as in one, and a process that dies takes only its seed with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from fairlead.runtime.seeds import run_in_processes
from fairlead.sim.run import Failure, Runner, SeedResult


class Scripted(Runner):
    """Runs nothing; some seeds kill their process, always or the first time."""

    def __init__(self, always: set[int], once: set[int], folder: Path) -> None:
        self._always, self._once, self._folder = always, once, folder

    def wanted(self) -> dict[str, str]:
        return {}

    def run(self, seed: int) -> SeedResult:
        mark = self._folder / str(seed)
        if seed in self._always or (seed in self._once and not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return SeedResult(
            seed=seed, digest=f"digest {seed}", failure=None, seconds=1.0, commits=1, faults={}, probes={}
        )


def failures(results: list[SeedResult]) -> dict[int, Failure]:
    return {each.seed: each.failure for each in results if each.failure is not None}


@pytest.mark.parametrize("jobs", [2, 3, 40])
def test_a_process_that_dies_loses_no_seed(jobs: int, tmp_path: Path) -> None:
    results = list(run_in_processes(Scripted(set(), {0, 5, 6}, tmp_path), range(20), jobs))
    assert sorted(each.seed for each in results) == list(range(20))
    assert failures(results) == {}


def test_a_seed_that_kills_every_process_has_failed_and_the_others_have_not(tmp_path: Path) -> None:
    results = list(run_in_processes(Scripted({3, 19}, {4}, tmp_path), range(20), 2))
    assert sorted(each.seed for each in results) == list(range(20))
    told = failures(results)
    assert told.keys() == {3, 19}
    assert told[3] == Failure(3, "process-lives", "2 processes ended while they ran it, by signal 9")


def test_no_process_is_left_when_the_results_are_no_longer_wanted(tmp_path: Path) -> None:
    results = run_in_processes(Scripted(set(), set(), tmp_path), range(1000), 2)
    next(results)
    assert len(multiprocessing.active_children()) == 2
    results.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_one_job_needs_no_process(tmp_path: Path) -> None:
    results = run_in_processes(Scripted(set(), set(), tmp_path), range(3), 1)
    assert [each.seed for each in results] == [0, 1, 2]
    assert multiprocessing.active_children() == []

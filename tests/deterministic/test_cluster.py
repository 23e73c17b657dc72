"""The drivers of plane and agent, with all that is below and between them: a Deployment comes up over crashes, and goes."""

from __future__ import annotations

import asyncio
import itertools
import time
from pathlib import Path

import pytest

from fairlead.runtime.server.plane_driver import PlaneDriver
from tests.deterministic.cluster_world import REPLICAS, Outcome, cluster_world
from tests.deterministic.loop import PROCESS, DeterministicLoop, play
from tests.elsewhere import elsewhere

# In the last one an agent dies while another's thread is at work, which goes on.
SEEDS, SOAK_SEEDS = (0, 1, 2, 3, 343), 400
_SECONDS_MAX = 2_000.0


def lived(seed: int, directory: Path) -> Outcome:
    return play(seed, lambda loop: cluster_world(loop, directory / str(seed)), _SECONDS_MAX)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_deployment_comes_up_over_crashes_and_goes_without_a_trace(seed: int, tmp_path: Path) -> None:
    outcome = lived(seed, tmp_path)
    assert not outcome.problems, f"seed {seed}: {outcome.problems[:3]}"
    assert len(outcome.launches) >= REPLICAS
    assert outcome.digest == elsewhere(digest, seed, str(tmp_path / "elsewhere"))


def digest(seed: int, directory: str) -> str:
    return lived(seed, Path(directory)).digest


@pytest.mark.soak
def test_a_deployment_comes_up_in_many_seeds(tmp_path: Path) -> None:
    for seed in range(4, SOAK_SEEDS):
        outcome = lived(seed, tmp_path)
        assert not outcome.problems, f"seed {seed}: {outcome.problems[:3]}"


def test_a_process_takes_only_its_own_threads_with_it() -> None:
    done: list[str] = []

    async def works(name: str) -> None:
        PROCESS.set(name)
        await asyncio.to_thread(done.append, name)

    async def world(loop: DeterministicLoop) -> None:
        tasks = [asyncio.create_task(works(name)) for name in ("agent-a", "agent-b")]
        await asyncio.sleep(0)
        loop.kill_threads("agent-a")
        await asyncio.wait(tasks, timeout=1.0)
        tasks[0].cancel()

    play(0, world)
    assert done == ["agent-b"]


def test_the_clocks_of_the_machine_are_nothing_to_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = lived(1, tmp_path / "one").digest
    for name in ("monotonic", "perf_counter", "time"):
        shown = itertools.count(int(getattr(time, name)()) + 1, 3600)
        monkeypatch.setattr(time, name, lambda shown=shown: float(next(shown)))
    assert lived(1, tmp_path / "two").digest == digest


def test_a_plane_whose_driver_tells_it_of_no_changes_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlaneDriver, "wake", lambda self, subscriptions: None)
    assert any("comes up" in problem for problem in lived(0, tmp_path).problems)

"""The process driver and its supervisors, under agents and supervisors that are killed: what is told is so, and no attempt
of a container is started twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.agent.drivers import state
from fairlead.agent.drivers.sweeping import Sweeper
from fairlead.agent.drivers.this_machine import ThisMachine
from tests.deterministic.loop import play
from tests.deterministic.process_world import Account, process_world
from tests.elsewhere import elsewhere

SEEDS, SOAK_SEEDS = 8, 1000
_SECONDS_MAX = 600.0


def lived(seed: int, directory: Path) -> Account:
    return play(seed, lambda loop: process_world(loop, directory / str(seed)), _SECONDS_MAX)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_told_of_a_pod_is_so_and_every_attempt_starts_once(seed: int, tmp_path: Path) -> None:
    account = lived(seed, tmp_path)
    assert not account.problems, f"seed {seed}: {account.problems[:3]}"


@pytest.mark.soak
def test_what_is_told_of_a_pod_is_so_in_many_seeds(tmp_path: Path) -> None:
    for seed in range(SEEDS, SOAK_SEEDS):
        account = lived(seed, tmp_path)
        assert not account.problems, f"seed {seed}: {account.problems[:3]}"


def test_a_seed_is_one_run_in_every_process_and_the_seeds_meet_every_fault(tmp_path: Path) -> None:
    runs = [lived(seed, tmp_path / "one") for seed in range(SEEDS)]
    assert [each.digest for each in runs] == elsewhere(digests, str(tmp_path / "two"))
    met = {fault for run in runs for fault in run.faults}
    assert met >= {"no_process", "no_command", "deaf", "forks", "stuck", "agent.killed", "supervisor.killed"}
    assert {event for run in runs for event in run.events} >= {"Saw", "Closed", "Probed"}


def digests(directory: str) -> list[str]:
    return [lived(seed, Path(directory)).digest for seed in range(SEEDS)]


def _found(tmp_path: Path, words: str) -> bool:
    return any(words in problem for seed in range(60) for problem in lived(seed, tmp_path).problems)


def test_a_driver_that_does_not_look_for_strays_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing_left(self: Sweeper, uid: str) -> set[int]:
        return set()

    monkeypatch.setattr(Sweeper, "left_of", nothing_left)
    assert _found(tmp_path, "run")


def test_a_supervisor_that_does_not_write_attempts_down_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "save", lambda directory, kept: None)
    assert _found(tmp_path, "launched more than once")


def test_a_driver_that_hands_no_deadline_on_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ThisMachine, "boot_instant", lambda self, at: state.NO_DEADLINE)
    assert _found(tmp_path, "the deadline")

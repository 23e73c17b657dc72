"""Runs of the standard world: faults fire, runs replay from their chance, the command reports what was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairlead.cli.main import main
from fairlead.sim.chance import Chance
from fairlead.sim.endstate import difference
from fairlead.sim.faults import CALM
from fairlead.sim.run import Runner
from fairlead.sim.world import World
from fairlead.sim.worlds import std20


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner()


def test_without_faults_the_world_comes_to_what_was_asked_for(runner: Runner) -> None:
    wanted = runner.wanted()
    assert wanted["pods: of Job batch, Succeeded, not ready, bound"] == "5"
    assert wanted["pods: of ReplicaSet cache, Running, ready, bound"] == "4"
    running = [
        int(count) for line, count in wanted.items() if line.startswith("pods: ") and "Running" in line
    ]
    assert sum(running) == 6 + 6 + 4 + 52 + 4 + 20


def test_the_order_of_events_does_not_change_what_it_comes_to(runner: Runner) -> None:
    calm = Runner(faults=CALM)
    assert [calm.run(seed).failure for seed in (1,)] == [None]


def test_the_standard_world_is_as_large_and_as_long_as_it_says(runner: Runner) -> None:
    run = World(std20.scenario(), Chance(4), CALM, backup=runner.backup()).run()
    assert run.violation is None
    assert run.seconds >= 600
    assert len(run.objects.of("nodes")) == 20
    assert run.rested_at is not None
    assert run.rested_at + 300 < run.seconds  # a resync happens at rest


def test_a_tape_played_again_is_the_same_run(runner: Runner) -> None:
    first = runner.play(Chance(9))
    again = runner.play(Chance.replay(first.chance.choices))
    assert again.digest == first.digest
    assert again.faults == first.faults


def test_a_different_end_is_told() -> None:
    told = difference({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"})
    assert told == "b: 3 instead of 2; c: 4 instead of nothing"


def test_the_command_reports_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "run", "--seeds", "2", "--seed", "3", "-o", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["seeds"] == 2
    assert report["failures"] == []
    assert {
        "digest",
        "seeds_per_second",
        "commits_per_second",
        "simulated_seconds_per_second",
    } <= report.keys()
    assert report["faults"]["reply_lost"] > 0


@pytest.mark.soak
def test_several_processes_find_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    digests = []
    for jobs in ("1", "2"):
        assert main(["sim", "run", "--seeds", "2", "--jobs", jobs, "-o", "json"]) == 0
        digests.append(json.loads(capsys.readouterr().out)["digest"])
    assert digests[0] == digests[1]


def test_a_plant_may_be_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_plants.py").write_text("def nothing(parts):\n    return parts\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert Runner(plant="my_plants:nothing").run(0).digest == Runner().run(0).digest

"""Shrunk runs, kept as files: with its plant each breaks what it broke and without it nothing; what was found on the code
itself (`found/`) is found no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.replay.artifact import read_artifact
from fairlead.sim.chance import Chance
from fairlead.sim.generate.runner import runner_of
from fairlead.sim.player import play_again
from fairlead.testing.replays import assert_holds
from tests.sim import tiny
from tests.sim.artifacts import left_behind

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.jsonl"))
FOUND = sorted((Path(__file__).parent / "corpus" / "found").glob("*.jsonl"))


def test_there_is_a_corpus_of_small_files() -> None:
    assert len(CORPUS) >= 3
    assert FOUND
    assert all(file.stat().st_size < 450_000 for file in (*CORPUS, *FOUND))


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.stem)
def test_a_kept_run_breaks_what_it_broke_and_only_with_its_plant(file: Path) -> None:
    artifact = read_artifact(file.read_bytes())
    assert artifact.head.plant == f"fairlead.sim.zoo.{file.stem}:plant"
    assert play_again(artifact).invariant == artifact.head.invariant
    assert_holds(file, artifact.head.invariant)
    with pytest.raises(AssertionError, match=rf"{file.name} breaks {artifact.head.invariant} \(again\)"):
        assert_holds(file, artifact.head.invariant, artifact.head.plant)


@pytest.mark.parametrize("file", FOUND, ids=lambda file: file.stem)
def test_what_was_found_on_the_code_itself_is_found_no_more(file: Path) -> None:
    artifact = read_artifact(file.read_bytes())
    assert not artifact.head.plant
    assert_holds(file, artifact.head.invariant)


def test_a_seed_that_fails_leaves_its_artifact_behind(tmp_path: Path) -> None:
    runner = tiny.runner(tiny.PLANT)
    seed = next(seed for seed in range(40) if runner.run(seed).failure is not None)
    told = left_behind(runner, seed, "tiny", tiny.PLANT, tmp_path)
    [file] = tmp_path.iterdir()
    assert f"fairlead sim show {file}" in told
    assert read_artifact(file.read_bytes()).head.digest == runner.play(Chance(seed)).digest
    assert "does not fail" in left_behind(tiny.runner(), seed, "tiny", "", tmp_path)


def test_so_does_a_seed_whose_world_is_its_own(tmp_path: Path) -> None:
    plant = "tests.sim.plants:held_for_ever"
    left_behind(runner_of("small", plant), 94, "small", plant, tmp_path)
    [file] = tmp_path.iterdir()
    artifact = read_artifact(file.read_bytes())
    assert artifact.head.seed == 94
    assert play_again(artifact).same

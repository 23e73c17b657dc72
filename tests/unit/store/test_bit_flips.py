"""One bit of a file flips: that is harmless, or it is found and said. Nothing changes, is lost or ends without a word."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.unit.store.rot import Written, fill, flip, verdict

FEW, MANY = 40, 2000


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Written]:
    directory = tmp_path_factory.mktemp("closed") / "plane"
    return directory, fill(directory, close=True)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Written]:
    directory = tmp_path_factory.mktemp("killed") / "plane"
    return directory, fill(directory, close=False)


def flipped(source: tuple[Path, Written], file: str, count: int, tmp_path: Path) -> Counter[str]:
    directory, written = source
    told: Counter[str] = Counter()
    for seed in range(count):
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(directory, copy)
        what = flip(copy / file, random.Random(seed))
        try:
            found = verdict(copy, written)
        except Exception as error:
            raise AssertionError(f"{what} (seed {seed}): {error!r}") from error
        told[found.split(":")[0]] += 1
    return told


AMOUNTS = [FEW, pytest.param(MANY, marks=pytest.mark.soak)]


def test_without_a_flip_nothing_is_reported(
    closed: tuple[Path, Written], killed: tuple[Path, Written], tmp_path: Path
) -> None:
    for number, (directory, written) in enumerate((closed, killed)):
        copy = tmp_path / str(number)
        shutil.copytree(directory, copy)
        assert verdict(copy, written) == "harmless"
        assert verdict(copy, written) == "harmless"


@pytest.mark.parametrize("count", AMOUNTS)
def test_of_the_database(closed: tuple[Path, Written], tmp_path: Path, count: int) -> None:
    told = flipped(closed, "store.db", count, tmp_path)
    assert told["reported"] > count // 3


@pytest.mark.parametrize("count", AMOUNTS)
def test_of_the_log_after_a_kill(killed: tuple[Path, Written], tmp_path: Path, count: int) -> None:
    told = flipped(killed, "store.db-wal", count, tmp_path)
    assert told["reported"] > count // 2


@pytest.mark.parametrize("file", ["store.db", "store.db-shm", "revision", "FORMAT"])
def test_of_the_other_files_after_a_kill(killed: tuple[Path, Written], tmp_path: Path, file: str) -> None:
    flipped(killed, file, FEW // 2, tmp_path)

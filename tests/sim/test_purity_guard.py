"""Pure code cannot reach outside while a run lasts: whoever does fails the run, and the door is named."""

from __future__ import annotations

import datetime
import io
import os
import random
import re
import threading
import time
from pathlib import Path
from time import monotonic  # by name: what the fence must find as well

import pytest

from fairlead.cli.main import main
from fairlead.sim.purity_guard import Trespass, raise_fence
from fairlead.sim.run import Runner

DOORS = {
    "clock": "time.time",
    "stopwatch": "time.perf_counter",
    "calendar": "datetime.datetime.now",
    "nap": "time.sleep",
    "thread": "threading.Thread.start",
    "file": "builtins.open",
    "path": "io.open",
    "descriptor": "os.open",
    "dice": "random.random",
    "shuffled": "random.shuffle",
    "bits": "random.getrandbits",
    "entropy": "os.urandom",
    "token": "secrets.token_hex",
    "name": "uuid.uuid4",
    "network": "socket.socket",
}


@pytest.mark.parametrize("plant", DOORS)
def test_a_decider_that_reaches_outside_fails_the_run(plant: str) -> None:
    failure = Runner(plant=f"tests.sim.plants:{plant}").run(0).failure
    assert failure is not None
    assert (failure.invariant, failure.message.split()[0]) == ("pure", DOORS[plant])
    assert "plants.py" in failure.trace


def test_the_command_tells_of_it_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "run", "--seeds", "1", "--plant", "tests.sim.plants:clock"]) == 1
    shown = capsys.readouterr().out
    assert "seed 0: pure: time.time was used while a simulation ran" in shown
    assert "plants.py" in shown  # one seed alone shows where


@pytest.mark.parametrize(
    ("part", "invariant"), [("raising", "deciders-do-not-raise"), ("broken_plane", "no-exception")]
)
def test_a_part_that_raises_fails_its_seed_only(
    part: str, invariant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plant = f"tests.sim.plants:{part}"
    assert main(["sim", "run", "--seeds", "2", "--plant", plant]) == 1
    shown = capsys.readouterr().out
    for seed in (0, 1):
        assert re.search(rf"^seed {seed}: {invariant}: .*KeyError: 'no such key'$", shown, re.MULTILINE)
        assert f"again: fairlead sim run --seeds 1 --seed {seed} --plant {plant}" in shown
    assert "Traceback" not in shown


def test_what_was_imported_by_name_is_closed_as_well() -> None:
    with raise_fence(), pytest.raises(Trespass, match=r"time\.monotonic"):
        monotonic()
    assert monotonic() > 0


def test_nothing_may_catch_it_on_the_way() -> None:
    assert not issubclass(Trespass, Exception)


def test_after_the_run_everything_is_as_before() -> None:
    def doors() -> tuple[object, ...]:
        return (time.time, os.urandom, open, io.open, datetime.datetime, monotonic, random.random)

    before = doors()
    with raise_fence():
        assert not any(one is other for one, other in zip(before, doors(), strict=True))
    assert doors() == before
    with pytest.raises(ValueError), raise_fence():
        raise ValueError
    assert doors() == before
    assert Path(os.devnull).read_text() == ""


def test_moments_can_be_reckoned_with_inside() -> None:
    with raise_fence():
        assert datetime.datetime.fromtimestamp(0, datetime.UTC).isoformat() == "1970-01-01T00:00:00+00:00"


def test_other_threads_of_the_process_are_outside() -> None:
    go, seen = threading.Event(), []

    def look() -> None:
        go.wait(60)
        seen.extend([time.time(), datetime.datetime.now(datetime.UTC).timestamp()])

    thread = threading.Thread(target=look)
    thread.start()
    with raise_fence():
        with pytest.raises(Trespass):
            time.time()
        with pytest.raises(Trespass):
            datetime.datetime.now(datetime.UTC)
        go.set()
        thread.join(60)
    assert len(seen) == 2

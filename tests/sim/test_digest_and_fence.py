"""Two runs are equal if their digests are; what differs first is shown; pure code cannot reach outside."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import uuid

import pytest

from fairlead.sim.digest import Digest, first_divergence
from fairlead.sim.fence import Trespass, fenced


def digest_of(*steps: tuple[bytes, str, bytes]) -> str:
    digest = Digest()
    for step in steps:
        digest.add(*step)
    return digest.hex()


def test_the_digest_depends_on_every_part_and_on_the_order() -> None:
    one, other = (b"call", "a", b"x"), (b"call", "b", b"x")
    digests = {
        digest_of(one, other),
        digest_of(other, one),
        digest_of(one),
        digest_of((b"call", "a", b"y"), other),
        digest_of((b"told", "a", b"x"), other),
    }
    assert len(digests) == 5


def test_where_one_step_ends_and_the_next_begins_matters() -> None:
    assert digest_of((b"a", "bc", b"")) != digest_of((b"ab", "c", b""))


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (["a", "b"], ["a", "b"], ""),
        (["a", "b"], ["a", "c"], "step 1 differs:\n  b\n  c"),
        (["a"], ["a", "b"], "step 1 is only in one of them:\n  b"),
    ],
)
def test_the_first_difference_of_two_trails_is_shown(one: list[str], other: list[str], told: str) -> None:
    assert first_divergence(one, other) == told


@pytest.mark.parametrize(
    "reach",
    [time.time.__name__, "monotonic", "urandom", "uuid4", "thread", "open"],
)
def test_reaching_outside_during_a_run_fails_it(reach: str) -> None:
    reaches = {
        "time": lambda: time.time(),
        "monotonic": lambda: time.monotonic(),
        "urandom": lambda: os.urandom(1),
        "uuid4": lambda: uuid.uuid4(),
        "thread": lambda: threading.Thread(target=print).start(),
        "open": lambda: open(os.devnull).close(),
    }
    with fenced(), pytest.raises(Trespass):
        reaches[reach]()


def test_after_the_run_everything_is_as_before() -> None:
    before = (time.time, os.urandom, open)
    with pytest.raises(ValueError), fenced():
        raise ValueError
    assert (time.time, os.urandom, open) == before


def test_one_seed_is_the_same_to_the_last_byte_whatever_the_hash_seed() -> None:
    script = (
        "from fairlead.sim.run import Runner; from fairlead.sim.tape import Tape\n"
        "run = Runner().play(Tape(3), trail=True)\n"
        "print(*run.trail, run.digest, sep='\\n')"
    )
    trails = []
    for hash_seed in ("1", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        trails.append(done.stdout.splitlines())
    assert len(trails[0]) > 10_000
    assert first_divergence(*trails) == ""

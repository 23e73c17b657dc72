"""One seed is one run: to the last byte, in every process. Where two runs part, the first step that differs is shown."""

from __future__ import annotations

import json
import os
import re

import pytest

from fairlead.cli.main import main
from fairlead.cli.sim.check import HASH_SEEDS
from fairlead.sim.chance import Chance
from fairlead.sim.digest import Digest
from fairlead.sim.divergence import Divergence, first_divergence
from fairlead.sim.run import Runner
from fairlead.sim.time import Timeline


def digest_of(*steps: tuple[bytes, str, bytes]) -> str:
    digest = Digest(Timeline(Chance(0)))
    for kind, text, data in steps:
        digest.add(kind, "plane-0", text, data)
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


STEPS = [f"step {number}" for number in range(10)]


@pytest.mark.parametrize(
    ("one", "other", "parted"),
    [
        (STEPS, STEPS, None),
        ([], [], None),
        (["a", "b"], ["a", "c"], Divergence(1, ("a",), "b", "c")),
        (["a"], ["a", "b"], Divergence(1, ("a",), None, "b")),
        (["a", "b"], ["a"], Divergence(1, ("a",), "b", None)),
        ([*STEPS, "x", "z"], [*STEPS, "y", "z"], Divergence(10, tuple(STEPS[-4:]), "x", "y")),
    ],
)
def test_the_first_difference_of_two_trails_is_found(
    one: list[str], other: list[str], parted: Divergence | None
) -> None:
    assert first_divergence(iter(one), iter(other)) == parted


def test_it_is_shown_with_its_number_both_sides_and_what_led_there() -> None:
    assert str(Divergence(7, ("call 1", "told 2"), "x", None)) == (
        "step 7 differs:\n  5  call 1\n  6  told 2\n> 7  x\n> 7  (has ended)"
    )


def test_of_a_long_step_the_part_that_differs_is_shown() -> None:
    alike = "commit " + "a" * 5000
    shown = str(Divergence(1, (), f"{alike}X{'b' * 5000}", f"{alike}Y{'b' * 5000}")).splitlines()
    assert all(line.startswith("> 1  commit aaa") and len(line) < 320 for line in shown[1:])
    assert ("aX" in shown[1], "aY" in shown[2]) == (True, True)


@pytest.mark.soak  # two processes load and run everything for one plant
def test_a_plane_that_follows_the_order_of_a_set_is_caught_at_its_first_different_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["sim", "check", "--plant", "tests.sim.plants:hashed"]) == 1
    told, *steps = capsys.readouterr().out.splitlines()
    step = int(re.fullmatch(r"seed 0: step (\d+) differs:", told).group(1))  # type: ignore[union-attr]
    assert [line[: 2 + len(str(each))] for line, each in zip(steps, range(step - 4, step), strict=False)] == [
        f"  {each}" for each in range(step - 4, step)
    ]
    one, other = (line.removeprefix(f"> {step}  ") for line in steps[4:])
    assert one != other
    # The same decision of the same controller, with its effects in another order.
    assert (one.split()[2], other.split()[2]) in {("record", "record"), ("call", "call")}
    assert "replicaset" in one
    assert "replicaset" in other


def test_a_seed_is_the_same_to_the_last_byte_in_fresh_processes_that_hash_differently(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert len(set(HASH_SEEDS)) == 2
    seeds = 20 if os.environ.get("FAIRLEAD_SOAK") else 1
    main(["sim", "check", "--seed", "3", "--seeds", str(seeds), "-o", "json"])
    assert json.loads(capsys.readouterr().out) == {"seeds": seeds, "differences": []}


def test_what_a_seed_comes_to_does_not_depend_on_the_seeds_before_it() -> None:
    """Runs of one process share what they remember of specs, owned fields and bytes."""
    runner = Runner()
    first, second = runner.run(3), runner.run(4)
    assert runner.run(3) == first
    assert Runner().run(4) == second


def test_a_plant_that_cannot_be_loaded_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "check", "--plant", "nowhere:plant"]) == 2
    assert 'the plant "nowhere:plant" cannot be loaded' in capsys.readouterr().err

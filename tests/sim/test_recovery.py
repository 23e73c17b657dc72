"""Room reserved for replicas, whatever happens to any one write: one Reservation each, made once, used once, ended once."""

from __future__ import annotations

import json
import os

import pytest

from fairlead.sim.run import Runner
from fairlead.sim.world import Run
from fairlead.sim.worlds import recovery
from tests.sim.directed import FAULTS, Asked, calls, calm, strike
from tests.sim.sampled import sampled

SOAK = bool(os.environ.get("FAIRLEAD_SOAK"))
CAPACITY = "override-capacity"
CONTROLLERS = (CAPACITY, "reservation", "scheduler") if SOAK else (CAPACITY,)
KEPT = ["made", "Active", "Allocated"]
ENDED = [*KEPT, "Released", "Released", "gone"]  # its deletion begins, then its finalizer goes


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner(recovery.scenario(), recovery.FAULTS)


@pytest.fixture(scope="module")
def undisturbed(runner: Runner) -> Run:
    return calm(runner)


def lives(run: Run) -> list[list[str]]:
    """What became of each Reservation, in the order of the commits; by intent, of which the first is the shortest."""
    told: dict[str, list[str]] = {}
    for step in run.trail or ():
        if step.kind == "commit":
            change, obj = step.text, json.loads(step.data)
            if obj["kind"] == "Reservation":
                phase = obj.get("status", {}).get("phase", "made")
                life = told.setdefault(obj["spec"]["intent"], [])
                life.append("gone" if change == "DELETED" else "made" if change == "ADDED" else phase)
    assert set(told) == {f"room-{number + 1}" for number in range(recovery.REPLICAS)}
    return sorted(told.values(), key=len)


# One replica stays, and with it what it uses.
WANTED = [KEPT, *[ENDED] * (recovery.REPLICAS - 1)]


def writes(run: Run) -> list[Asked]:
    found = [asked for asked in calls(run) if asked.write >= 0 and asked.controller in CONTROLLERS]
    return found if SOAK else found[:3]


def test_undisturbed_each_reservation_is_made_used_and_ended_once(undisturbed: Run) -> None:
    assert undisturbed.violation is None
    assert lives(undisturbed) == WANTED


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_happens_to_any_one_write_no_reservation_is_made_or_used_twice(
    runner: Runner, undisturbed: Run, fault: str
) -> None:
    struck = writes(undisturbed)
    assert len(struck) >= 3
    for asked in struck:
        run = strike(runner, asked, fault)
        assert run.violation is None, (asked, run.violation)
        assert lives(run) == WANTED, asked


def test_with_many_faults_at_once_it_holds_as_well() -> None:
    tally = sampled("recovery", range(1000 if SOAK else 6))
    assert tally.probes["timeout after commit of Create"] > 0

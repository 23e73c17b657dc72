"""Lesson by example: a workload of three with one unknown binding. Whatever happens to any one write, it is repaired in
stages, never with a fourth live copy, and comes to the same end."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from fairlead.cli.main import main
from fairlead.sim.run import Runner
from fairlead.sim.world import Run
from fairlead.sim.worlds import fraud_batch
from tests.sim.directed import FAULTS, Asked, calls, calm, strike
from tests.sim.sampled import sampled

SOAK = bool(os.environ.get("FAIRLEAD_SOAK"))
CONTROLLERS = ("replicaset", "scheduler", "hollow") if SOAK else ("replicaset", "scheduler")


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner(fraud_batch.scenario(), fraud_batch.FAULTS)


@pytest.fixture(scope="module")
def undisturbed(runner: Runner) -> Run:
    return calm(runner)


def pods(run: Run) -> list[tuple[str, dict[str, Any]]]:
    """Every committed change of a pod: its type and the pod."""
    found = []
    for step in run.trail or ():
        if step.kind == "commit":
            change, obj = step.text, json.loads(step.data)
            if obj["kind"] == "Pod":
                found.append((change, obj))
    return found


def stages(run: Run) -> list[str]:
    """What became of the copies, in the order of the commits."""
    told: list[str] = []
    copies: dict[str, str] = {}
    for change, pod in pods(run):
        meta = pod["metadata"]
        if change == "ADDED":
            copies[meta["uid"]] = f"copy {len(copies) + 1}"
            stage = "made"
        elif change == "DELETED":
            stage = "gone"
        elif "deletionTimestamp" in meta:
            stage = "released"
        else:
            continue
        told.append(f"{copies[meta['uid']]} {stage}")
    return told


def writes(run: Run) -> list[Asked]:
    return [asked for asked in calls(run) if asked.write >= 0 and asked.controller in CONTROLLERS]


def test_undisturbed_the_silent_copy_is_released_before_its_replacement_is_made(undisturbed: Run) -> None:
    assert undisturbed.violation is None
    made = ["copy 1 made", "copy 2 made", "copy 3 made"]
    assert stages(undisturbed) == [*made, "copy 3 released", "copy 4 made", "copy 3 gone"]
    nodes = {pod["spec"].get("nodeName") for _, pod in pods(undisturbed)[-1:]}
    assert nodes == {fraud_batch.SILENT}


@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_happens_to_any_one_write_no_step_is_done_twice_or_out_of_order(
    runner: Runner, undisturbed: Run, fault: str
) -> None:
    wanted = stages(undisturbed)
    struck = writes(undisturbed)
    assert len(struck) >= 12
    for asked in struck if SOAK else struck[::3]:
        run = strike(runner, asked, fault)
        assert run.violation is None, (asked, run.violation)
        assert stages(run) == wanted, asked


def test_each_fault_strikes_the_call_it_was_meant_for(runner: Runner, undisturbed: Run) -> None:
    binding = next(asked for asked in writes(undisturbed) if asked.subresource == "binding")
    for fault in ("request_lost", "request_late", "reply_lost"):
        assert strike(runner, binding, fault).faults == {fault: 1}
    for fault in ("crash_unsent", "crash_sent"):
        assert strike(runner, binding, fault).faults == {"crash_at_write": 1}


def test_with_many_faults_at_once_it_holds_as_well() -> None:
    tally = sampled("fraud-batch", range(400 if SOAK else 8))
    assert tally.probes["timeout after commit of Bind"] > 0


def test_a_plane_that_takes_a_timeout_for_a_refusal_makes_a_fourth_copy() -> None:
    plant = "fairlead.sim.zoo.timeout_read_as_failure:plant"
    planted = Runner(fraud_batch.scenario(), fraud_batch.FAULTS, plant=plant)
    run = calm(planted)
    replacement = [asked for asked in writes(run) if asked.resource == "pods" and not asked.subresource][3]
    found = strike(planted, replacement, "request_late").violation
    assert found is not None
    assert found.invariant == "live-children"
    assert "is live child 4 of replicasets.apps fraud-batch, which may have 3" in found.message


def test_the_command_runs_this_world_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    plant = "fairlead.sim.zoo.status_write_loop:plant"
    arguments = ["sim", "run", "--world", "fraud-batch", "--seeds", "1"]
    assert main([*arguments, "--plant", plant]) == 1
    told = f"again: fairlead sim run --seeds 1 --seed 0 --world fraud-batch --plant {plant}"
    assert told in capsys.readouterr().out

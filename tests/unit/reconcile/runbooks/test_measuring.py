"""Runs that see metrics and decisions: what they judge by was measured for them, lately, and is in their status."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import microtime, timestamp
from fairlead.model.runbooks.measures import summary_of
from fairlead.model.views.runbooks import RUNBOOK_RUNS
from fairlead.reconcile.runbooks.scene import CLOCKS_DIFFER_SECONDS, READINGS_FRESH_SECONDS
from tests.unit.reconcile.runbooks.book_world import BookWorld

Json = dict[str, Any]
_METRICS = [{"name": "depth", "metric": "fairlead_queue_depth"}]
_DECISIONS = [{"name": "decided", "apiVersion": "apps/v1", "kind": "Deployment", "objectName": "${workload}"}]
_SHALLOW = {"name": "shallow", "expression": "depth < 10", "message": "too much to do"}
_BLOCKED = {
    "name": "blocked",
    "expression": "decided.attempts > 2 && now - timestamp(decided.since) > duration('5m') && decided.last.reason == 'PodsUnavailable'",
}


class Measured(BookWorld):
    def __init__(self, *preconditions: Json, **spec: Any) -> None:
        super().__init__()
        self.book(metrics=_METRICS, decisions=_DECISIONS, preconditions=list(preconditions), **spec)
        self.start()

    def measure(self, depth: float | None, count: int = 3, differ: float = 0.0) -> None:
        """`differ`: how far the clock of who measures is ahead."""
        decided = summary_of((), "", "", 0.0)
        decided = {
            **decided,
            "attempts": count,
            "since": microtime(self.now - 301),
            "last": {**decided["last"], "reason": "PodsUnavailable"},
        }
        readings = {"at": timestamp(self.now + differ), "values": {"depth": depth, "decided": decided}}
        self.edit_status(RUNBOOK_RUNS, "run-1", {"readings": readings})


def test_nothing_is_begun_before_it_was_measured_and_then_by_what_was() -> None:
    world = Measured(_SHALLOW, _BLOCKED)
    assert world.go_on().status.phase == ""
    assert world.step().verdict.reason == "NotMeasured"  # type: ignore[union-attr]
    world.measure(3.0)
    run = world.go_on()
    assert (run.status.phase, world.states()) == ("Running", [("hold", "Done"), ("recover", "Running")])
    assert run.status.readings is not None
    assert run.status.readings.values["depth"] == 3.0


@pytest.mark.parametrize(
    ("depth", "count", "says"),
    [
        (10.0, 3, "shallow: too much to do"),
        (3.0, 2, "blocked: "),
        (None, 3, "shallow: depth < 10 has no value"),
    ],
)
def test_what_was_measured_decides(depth: float | None, count: int, says: str) -> None:
    world = Measured(_SHALLOW, _BLOCKED)
    world.measure(depth, count)
    run = world.go_on()
    assert (run.status.phase, run.status.reason) == ("Failed", "PreconditionFailed")
    assert says in run.status.message


def test_a_run_under_way_goes_by_no_number_that_is_old() -> None:
    """It would have been aborted by it; a new number lets it go on."""
    deep = {"name": "deep", "expression": "depth > 50", "message": "too deep"}
    world = Measured(_SHALLOW, abortWhen=[deep])
    world.measure(3.0)
    assert world.go_on().status.step == "recover"
    world.set_ready(3)
    world.tick(READINGS_FRESH_SECONDS + 1)
    assert world.go_on().status.step == "recover"
    world.measure(3.0)
    assert world.go_on().status.phase == "Succeeded"


def test_an_abort_rule_sees_what_is_measured() -> None:
    deep = {"name": "deep", "expression": "depth > 50", "message": "too deep"}
    world = Measured(_SHALLOW, abortWhen=[deep])
    world.measure(3.0)
    world.go_on()
    world.measure(51.0)
    run = world.go_on()
    assert (run.status.phase, run.status.message, world.made()) == ("Aborted", "deep: too deep", [])


def test_where_nobody_measures_a_run_ends_when_its_time_is_over() -> None:
    world = Measured(_SHALLOW)
    world.go_on()
    world.tick(301)
    run = world.go_on()
    assert (run.status.phase, run.status.reason) == ("Failed", "NotMeasured")
    world = Measured(_SHALLOW, timeoutSeconds=600)
    world.measure(3.0)
    assert world.go_on().status.step == "recover"
    world.tick(601)
    run = world.go_on()
    assert (run.status.phase, run.status.reason, world.made()) == ("Aborted", "RunTimedOut", [])


def test_a_run_whose_steps_are_done_is_not_undone_because_nobody_measures() -> None:
    """It has its time to settle, which is not that of its steps."""
    made = {
        "name": "hold",
        "create": {"object": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}},
    }
    deep = {"name": "deep", "expression": "depth > 100"}
    world = Measured(_SHALLOW, timeoutSeconds=60, settleSeconds=900, steps=[made], postconditions=[deep])
    world.measure(3.0)
    assert world.go_on().status.phase == "Settling"
    world.tick(70)
    assert (world.go_on().status.phase, world.step().verdict.reason) == ("Settling", "NotMeasured")  # type: ignore[union-attr]
    world.tick(900)
    run = world.go_on()
    assert (run.status.phase, run.status.reason) == ("Failed", "PostconditionFailed")
    assert run.status.message == "all steps are done, but nothing was measured for it; nothing was undone"
    assert len(world.made()) == 1


def test_a_run_is_not_undone_if_it_is_measured_again_before_its_time_to_settle_is_over() -> None:
    made = {
        "name": "hold",
        "create": {"object": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}},
    }
    deep = {"name": "deep", "expression": "depth > 100"}
    world = Measured(_SHALLOW, timeoutSeconds=60, settleSeconds=900, steps=[made], postconditions=[deep])
    world.measure(3.0)
    world.go_on()
    world.tick(500)
    world.go_on()
    world.measure(101.0)
    assert world.go_on().status.phase == "Succeeded"


@pytest.mark.parametrize("differ", [-60.0, 60.0])
def test_a_plane_whose_clock_differs_by_a_minute_goes_by_what_it_saw_itself(differ: float) -> None:
    world = Measured(_SHALLOW)
    world.measure(3.0, differ=differ)
    assert world.go_on().status.step == "recover"
    world.set_ready(3)
    world.tick(READINGS_FRESH_SECONDS + 1)
    assert world.go_on().status.step == "recover"  # nothing was seen for so long
    world.measure(3.0, differ=differ)
    assert world.go_on().status.phase == "Succeeded"


def test_reports_of_its_own_keep_no_number_fresh_for_long() -> None:
    world = Measured(_SHALLOW)
    world.measure(3.0)
    assert world.go_on().status.step == "recover"
    world.set_ready(3)
    world.tick(READINGS_FRESH_SECONDS + CLOCKS_DIFFER_SECONDS + 1)
    world.edit_status(RUNBOOK_RUNS, "run-1", {"message": "a report"})
    assert world.go_on().status.step == "recover"

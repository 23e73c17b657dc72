"""Stages of a pod and the progress of a workload: `model/stages.py`, `ledger/progress.py`, `control/stages.py`."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.control.settings import BUILT_IN
from fairlead.control.stages import StageTally
from fairlead.ledger.progress import progress, stage_of, standing_of
from fairlead.model.marks import RELEASED
from fairlead.model.stages import STAGES, standing_of_object
from fairlead.model.views import Pod

Json = dict[str, Any]
NODE = {"nodeName": "node-1"}


def pod(spec: Json | None = None, status: Json | None = None, name: str = "web-1") -> Json:
    return {"metadata": {"name": name, "uid": name}, "spec": spec or {}, "status": status or {}}


def condition(kind: str, status: str, reason: str = "", message: str = "") -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def container(state: Json, ready: bool = False) -> Json:
    return {"name": "main", "ready": ready, "state": state}


RUNNING = container({"running": {}}, ready=True)
READY: Json = {"conditions": [condition("Ready", "True")], "containerStatuses": [RUNNING]}
CASES: tuple[tuple[Json, Json, str, str, str], ...] = (
    ({"schedulingGates": [{"name": "x"}]}, {}, "admitted", "SchedulingGated", "who set the gates"),
    ({}, {}, "queued", "", "scheduler"),
    ({}, {"conditions": [condition("PodScheduled", "False", "Unschedulable", "0/3")]}, "queued", "Unschedulable", "user"),
    ({}, {"conditions": [{**condition("PodScheduled", "False", "Unschedulable", "0/3"), "owner": "quota-admin"}]}, "queued", "Unschedulable", "quota-admin"),
    ({"schedulerName": "mine"}, {}, "queued", "OtherScheduler", "scheduler mine"),
    ({}, {"nominatedNodeName": "node-2"}, "scheduled", "Nominated", "scheduler"),
    (NODE, {}, "bound", "NotStarted", "agent of node-1"),
    (NODE, {"containerStatuses": [container({"waiting": {"reason": "ContainerCreating"}})]}, "starting", "", "agent of node-1"),
    (NODE, {"containerStatuses": [container({"waiting": {"reason": "CrashLoopBackOff"}})]}, "starting", "CrashLoopBackOff", "user"),
    (NODE, {"containerStatuses": [container({"terminated": {"exitCode": 3}})]}, "starting", "Error", "agent of node-1"),
    (NODE, {"containerStatuses": [container({"running": {}})]}, "starting", "NotReady", "the container"),
    (NODE, {**READY, "conditions": [condition("Ready", "False", "ReadinessGatesNotReady")]}, "starting", "ReadinessGatesNotReady", "who reports the readiness gates"),
    (NODE, READY, "ready", "", ""),
    (NODE, {**READY, "conditions": [condition("Ready", "Unknown")]}, "starting", "NodeUnknown", "node health"),
    (NODE, {**READY, "conditions": [condition("Ready", "False", "NodeUnknown")]}, "starting", "NodeUnknown", "node health"),
    (NODE, {**READY, "conditions": [condition("Ready", "False", "NodeUnknown"), condition(RELEASED, "False", "Braked")]}, "starting", "Braked", "node-admin"),
    (NODE, {**READY, "conditions": [condition(RELEASED, "True", "NodeSilent")]}, "bound", "NodeSilent", "its owner, who replaces it"),
    (NODE, {"phase": "Succeeded"}, "ended", "Succeeded", ""),
    (NODE, {"phase": "Failed"}, "ended", "Failed", ""),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "status", "stage", "reason", "owner"), CASES)
def test_stage_of_a_pod(spec: Json, status: Json, stage: str, reason: str, owner: str) -> None:
    whole = pod(spec, status)
    told = standing_of_object(whole)
    assert (told.stage, told.reason, told.owner) == (stage, reason, owner)
    assert standing_of(msgspec.convert(whole, Pod)) == told
    assert stage_of(msgspec.convert(whole, Pod)) == stage


def views(*pods: Json) -> list[Pod]:
    return [msgspec.convert(each, Pod) for each in pods]


def test_a_funnel_with_what_limits_it() -> None:
    crash = {"containerStatuses": [container({"waiting": {"reason": "CrashLoopBackOff"}})]}
    told = progress(
        views(pod(NODE, READY, "a"), pod(NODE, READY, "b"), pod(NODE, crash, "c"), pod({}, {}, "d")),
        5,
        frozenset({"a"}),
    )
    assert {stage: told[stage] for stage in STAGES} == {
        "admitted": 4, "queued": 4, "scheduled": 3, "bound": 3, "starting": 3, "ready": 2, "serving": 1,
    }  # fmt: skip
    assert [(g["stage"], g["count"]) for g in told["pending"]] == [
        ("desired", 1),
        ("queued", 1),
        ("starting", 1),
        ("ready", 1),
    ]
    assert told["limit"]["stage"] == "desired"


def test_without_a_service_ready_is_the_end() -> None:
    told = progress(views(pod(NODE, READY)), 1, None)
    assert told["ready"] == 1
    assert "serving" not in told
    assert "pending" not in told


def test_what_goes_or_was_released_has_no_part() -> None:
    going = {**pod(NODE, READY, "a")}
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    released = pod(NODE, {**READY, "conditions": [condition(RELEASED, "True")]}, "b")
    told = progress(views(going, released), 2, None)
    assert told["admitted"] == 0
    assert told["limit"] == {"stage": "desired", "reason": "NotCreated", "owner": "its controller"}


def test_seconds_per_stage_of_those_on_their_way() -> None:
    tally = StageTally(BUILT_IN.stage_limits)
    steps = views(
        pod(), pod(NODE), pod(NODE, {"containerStatuses": [container({"running": {}})]}), pod(NODE, READY)
    )
    before = None
    for at, after in enumerate(steps):
        tally.observe(before, after, 10.0 * at)
        before = after
    assert [(stage, sum(each.counts)) for stage, each in tally.seconds.items() if sum(each.counts)] == [
        ("queued", 1),
        ("bound", 1),
        ("starting", 1),
    ]
    assert not tally.on_the_way()


def test_stuck_and_gone() -> None:
    tally = StageTally(BUILT_IN.stage_limits)
    (waiting,) = views(pod())
    tally.observe(None, waiting, 0.0)
    assert tally.stuck(30.0) == {}
    assert tally.stuck(90.0) == {"queued": 1}
    tally.observe(waiting, None, 91.0)
    assert not tally.on_the_way()
    assert tally.exceeded["queued"] == 1


def test_the_limit_of_a_stage_is_a_setting_that_holds_for_those_who_are_there_already() -> None:
    tally = StageTally(BUILT_IN.stage_limits)
    (waiting,) = views(pod())
    tally.observe(None, waiting, 0.0)
    tally.limits = BUILT_IN.stage_limits | {"queued": 20.0, "bound": 5.0}
    assert tally.stuck(20.0) == {}
    assert tally.stuck(20.5) == {"queued": 1}
    (bound,) = views(pod(NODE))
    tally.observe(waiting, bound, 19.0)
    assert tally.stuck(23.0) == {}
    assert tally.stuck(25.0) == {"bound": 1}
    assert tally.exceeded == dict.fromkeys(tally.exceeded, 0)


def test_a_pod_first_seen_ready_does_not_count() -> None:
    tally = StageTally(BUILT_IN.stage_limits)
    (ready,) = views(pod(NODE, READY))
    tally.observe(None, ready, 0.0)
    assert not tally.on_the_way()

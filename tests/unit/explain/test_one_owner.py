"""Progress, `explain` and conditions name the same reason and the same owner, whatever a pod waits for.

One row per stage and reason of the table in `model/reasons.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec
import pytest
from msgspec import structs

from fairlead.agent.pod.conditions import ConditionFacts, with_owner
from fairlead.agent.pod.conditions import conditions as conditions_of
from fairlead.cli.workloads import observe
from fairlead.ledger.progress import progress, standing_of
from fairlead.model import reasons
from fairlead.model.marks import RELEASED
from fairlead.model.views import Condition, Job, Pod
from fairlead.reconcile.nodes.pod_marks import mark_pod
from fairlead.reconcile.progress import told_of
from fairlead.schedule.registry import PLUGINS
from tests.unit.explain.asking import Asked, InProcessClient, explain
from tests.unit.explain.stages import (
    APPS,
    WEB,
    bare,
    cordoned,
    failing_policy,
    limit_range,
    nominated,
    placement_quota,
    plain,
    quota,
    refusing_policy,
    silent,
    unanswered,
    waiting,
)


class Case(NamedTuple):
    reason: str
    make: Callable[[Asked], None]
    owner: str = ""  # where the table leaves it to the refusals


CASES = (
    Case("WaitingForResourceQuota", quota),
    Case("WaitingForLimitRange", limit_range),
    Case("WaitingForPriorityClass", plain(priorityClassName="none-such")),
    Case("WaitingForPlacementQuota", lambda asked: placement_quota(asked, nodeName="node-0")),
    Case("WaitingForValidatingAdmissionPolicy", refusing_policy),
    Case("WaitingForMutatingAdmissionPolicy", failing_policy),
    Case("WaitingForRuntimeClass", plain(runtimeClassName="none-such")),
    Case("DeploymentPaused", plain(paused=True)),
    Case("SchedulingGated", plain(schedulingGates=[{"name": "wait"}])),
    Case("OtherScheduler", plain(schedulerName="mine"), "scheduler mine"),
    Case("Unschedulable", plain(nodeSelector={"disk": "none-such"}), "user or node-admin or autoscaler"),
    Case("Unschedulable", plain(cpu="99"), "autoscaler or user"),
    Case("Unschedulable", placement_quota, "quota-admin"),
    Case("Unschedulable", cordoned, "node-admin"),
    Case("SchedulingRetrying", unanswered),
    Case("Nominated", nominated),
    Case("NotStarted", bare, "agent of bare"),
    Case("NodeUnknown", silent(300)),
    Case("Braked", silent(0, 2)),
    Case("CrashLoopBackOff", waiting("CrashLoopBackOff", "back-off 10s")),
    Case("CreateContainerConfigError", waiting("CreateContainerConfigError", 'configmap "c" not found')),
    Case("FailedMount", waiting("ContainerCreating", 'MountVolume.SetUp failed for volume "v" : no')),
    Case("CreateContainerError", waiting("CreateContainerError", "no such user")),
    Case("NotReady", lambda asked: bare(asked, state={"running": {}})),
)


# What takes a Job, a rollout or an hour to come about is asked of the functions that tell it: see below.
BROUGHT_ABOUT = {each.reason for each in CASES}
WORKLOADS = [
    each for each in reasons.TABLE if each.stage == reasons.DESIRED and each.reason not in BROUGHT_ABOUT
]
MARKED = [each for each in reasons.TABLE if each.condition == RELEASED]
_STATUS = {"Progressing": "False"}  # of a workload's condition that says what it waits for; else True


@pytest.mark.parametrize("case", CASES, ids=[f"{each.reason}-{each.owner}" for each in CASES])
def test_progress_explain_and_conditions_say_the_same(case: Case) -> None:
    asked = Asked()
    case.make(asked)
    asked.run(5)
    [row] = [each for each in reasons.TABLE if each.reason == case.reason]
    expected = (case.reason, case.owner or row.owner)
    workload = asked.api.get(f"{APPS}/deployments/web")[1]
    told = workload["status"]["progress"]["limit"]
    assert (told["reason"], told["owner"]) == expected
    pods = asked.driver.live_pods()
    seen = observe(InProcessClient(asked), WEB)
    assert [(each["reason"], each["owner"]) for each in seen.told["pending"]] == [expected], (
        "the command line"
    )
    if row.stage != reasons.DESIRED:
        name = workload["status"]["progress"]["pending"][0]["pod"]
        standing = explain(asked.sources, "default", name)["standing"]
        assert (standing["reason"], standing["owner"]) == expected
        assert standing["stage"] == told["stage"]
        [holder] = [pod for pod in pods if pod["metadata"]["name"] == name]
    else:
        assert pods == []
        holder = workload
    if row.condition:
        [shown] = [each for each in holder["status"]["conditions"] if each["type"] == row.condition]
        assert (shown["reason"], shown["owner"]) == (row.word or row.reason, expected[1])


def test_scheduling_plugins_concern_nobody_whom_the_table_does_not_know() -> None:
    owners = {
        reasons.USER,
        reasons.QUOTA_ADMIN,
        reasons.NODE_ADMIN,
        reasons.CLUSTER_ADMIN,
        reasons.AUTOSCALER,
        reasons.SCHEDULER,
    }
    for name, plugin in PLUGINS.items():
        assert set(plugin().concerns) <= owners, name


@pytest.mark.parametrize("row", WORKLOADS, ids=lambda row: row.reason)
def test_a_workload_says_of_pods_that_are_not_there_what_its_condition_says(row: reasons.Row) -> None:
    if row.reason in (reasons.NOT_CREATED, reasons.SUSPENDED):
        conditions = []
    else:
        owner = reasons.owner_of(reasons.DESIRED, row.reason)
        conditions = [
            Condition(row.condition, _STATUS.get(row.condition, "True"), row.reason, "why", owner=owner)
        ]
    if row.reason == reasons.SUSPENDED:
        job = msgspec.convert(
            {"metadata": {"name": "j", "uid": "j", "resourceVersion": "1"}, "spec": {"suspend": True}}, Job
        )
        told = told_of(job, (), None)["hold"]
    elif row.condition == "Failed":
        job = msgspec.convert(
            {"metadata": {"name": "j", "uid": "j", "resourceVersion": "1"}, "spec": {"completions": 2}}, Job
        )
        job = structs.replace(job, status=structs.replace(job.status, conditions=tuple(conditions)))
        told = told_of(job, (), None)["limit"]
    else:
        told = progress((), 2, None, conditions)["limit"]
    assert (told["reason"], told["owner"]) == (row.reason, row.owner)


@pytest.mark.parametrize("row", MARKED, ids=lambda row: row.reason)
def test_a_pod_of_a_silent_node_has_the_owner_that_its_marks_name(row: reasons.Row) -> None:
    ready = {"type": "Ready", "status": "True"}
    body = {
        "metadata": {"name": "p", "uid": "u", "resourceVersion": "1"},
        "spec": {"nodeName": "n"},
        "status": {"conditions": [ready], "containerStatuses": [{"name": "main"}]},
    }
    pod = msgspec.convert(body, Pod)
    status = "True" if row.stage == reasons.BOUND else "False"
    effect = mark_pod("test", pod, Condition(RELEASED, status, row.reason, "why"), 0.0, lost=True)
    assert effect is not None
    told = effect.patch["status"]["conditions"]
    assert {each["owner"] for each in told} == {row.owner}
    whole = msgspec.convert({**body, "status": {**body["status"], "conditions": told}}, Pod)  # type: ignore[dict-item]
    standing = standing_of(whole)
    assert (standing.stage, standing.reason, standing.owner) == (row.stage, row.reason, row.owner)


def test_readiness_gates() -> None:
    told = conditions_of(ConditionFacts("Running", True, [], [], ["test.dev/gate"]), (), 0.0)
    status = {"containerStatuses": [{"name": "main", "ready": True, "state": {"running": {}}}]}
    pod = {
        "metadata": {"name": "p", "uid": "p", "resourceVersion": "1"},
        "spec": {"nodeName": "n"},
        "status": status,
    }
    shown = with_owner(told, pod)
    [ready] = [each for each in shown if each["type"] == "Ready"]
    standing = standing_of(msgspec.convert({**pod, "status": {**status, "conditions": shown}}, Pod))
    assert (ready["reason"], ready["owner"]) == (standing.reason, standing.owner)
    assert standing.owner == "who reports the readiness gates"


def test_every_reason_of_the_table_is_asked_for() -> None:
    asked = BROUGHT_ABOUT | {each.reason for each in (*WORKLOADS, *MARKED)} | {"ReadinessGatesNotReady"}
    assert asked == {each.reason for each in reasons.TABLE}
    assert len(reasons.TABLE) == len({each.reason for each in reasons.TABLE}), "a reason has one owner"

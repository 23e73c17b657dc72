"""Jobs with policies: what a failed pod means, limits per index, and an early success."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.core.times import timestamp
from fairlead.decision.contract import NOTHING
from fairlead.model.key import Key
from fairlead.model.views import JOBS, PODS, Job, JobSpec, Meta, Pod, PodStatus
from fairlead.reconcile.job.decider import job_decider
from fairlead.reconcile.job.indexes import FAILURES, IGNORED
from fairlead.reconcile.job.pods import INDEX, is_tracked
from fairlead.reconcile.job.policies import judge_failure, success_of
from tests.unit.reconcile.world import NOW, World, template

DECIDER = job_decider()
KEY = Key("jobs.batch", "default", "sum")
Json = dict[str, Any]


def make(world: World, *rules: Json, **spec: Any) -> None:
    if rules:
        spec["podFailurePolicy"] = {"rules": list(rules)}
    world.add(JOBS, "sum", spec={"template": template(restartPolicy="Never"), **spec})
    world.settle([DECIDER])


def job(world: World) -> Job:
    found = world.get(JOBS, "default", "sum")
    assert found is not None
    return found


def live(world: World) -> dict[str, Pod]:
    """By completion index; "" for a Job without."""
    return {pod.metadata.annotations.get(INDEX, ""): pod for pod in world.list(PODS) if pod.live}


def fail(world: World, index: str = "", code: int = 1, **condition: str) -> None:
    """The live pod of an index ends with this exit code."""
    name = live(world)[index].metadata.name
    world.set_pod(name, "Failed")
    ended = {"exitCode": code, "finishedAt": timestamp(world.now)}
    status: Json = {"containerStatuses": [{"name": "main", "state": {"terminated": ended}}]}
    if condition:
        status["conditions"] = [condition]
    world.edit_status(PODS, name, status)
    world.settle([DECIDER])


def succeed(world: World, index: str = "") -> None:
    world.set_pod(live(world)[index].metadata.name, "Succeeded")
    world.settle([DECIDER])


def held(world: World) -> dict[str, str]:
    return {each.type: each.reason for each in job(world).status.conditions if each.status == "True"}


def on_codes(action: str, operator: str, *values: int, **more: str) -> Json:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values), **more}}


def on_condition(action: str, kind: str, status: str = "True") -> Json:
    return {"action": action, "onPodConditions": [{"type": kind, "status": status}]}


def ended(*codes: int, conditions: tuple[Json, ...] = (), init: int = 0) -> Pod:
    statuses = [
        {"name": f"c{n}", "state": {"terminated": {"exitCode": code}}} for n, code in enumerate(codes)
    ]
    inits = [{"name": "init", "state": {"terminated": {"exitCode": init}}}]
    tree = {
        "phase": "Failed",
        "conditions": conditions,
        "containerStatuses": statuses,
        "initContainerStatuses": inits,
    }
    return Pod(Meta("p", "u", "ns"), status=msgspec.convert(tree, PodStatus))


DISRUPTED = ({"type": "DisruptionTarget", "status": "True"},)


@pytest.mark.parametrize(
    ("rules", "pod", "action", "message"),
    [
        ([], ended(3), "", ""),
        ([on_codes("Ignore", "In", 4)], ended(3), "", ""),
        (
            [on_codes("FailJob", "In", 3, 4)],
            ended(0, 4),
            "FailJob",
            "Container c1 for pod ns/p failed with exit code 4 matching FailJob rule at index 0",
        ),
        ([on_codes("FailJob", "In", 4, containerName="c0")], ended(0, 4), "", ""),
        ([on_codes("FailJob", "NotIn", 4)], ended(4), "", ""),
        ([on_codes("FailJob", "NotIn", 4)], ended(0), "", ""),
        (
            [on_codes("Ignore", "In", 9), on_codes("Count", "NotIn", 4)],
            ended(5),
            "Count",
            "Container c0 for pod ns/p failed with exit code 5 matching Count rule at index 1",
        ),
        (
            [on_codes("FailIndex", "In", 7)],
            ended(0, init=7),
            "FailIndex",
            "Container init for pod ns/p failed with exit code 7 matching FailIndex rule at index 0",
        ),
        (
            [on_condition("Ignore", "DisruptionTarget"), on_codes("FailJob", "NotIn", 0)],
            ended(137, conditions=DISRUPTED),
            "Ignore",
            "Pod ns/p has condition DisruptionTarget matching Ignore rule at index 0",
        ),
        ([on_condition("Ignore", "DisruptionTarget", "False")], ended(1, conditions=DISRUPTED), "", ""),
        ([on_condition("Ignore", "DisruptionTarget")], ended(1), "", ""),
    ],
)
def test_the_first_rule_that_matches_says_what_a_failure_means(
    rules: list[Json], pod: Pod, action: str, message: str
) -> None:
    found = Job(Meta("sum", "uid"), JobSpec(pod_failure_policy={"rules": rules}))
    assert judge_failure(found, pod) == (action, message)


def test_a_job_fails_at_once_where_its_policy_says_so() -> None:
    world = World()
    make(world, on_codes("FailJob", "In", 42), parallelism=2, completions=2)
    name = live(world)[""].metadata.name
    fail(world, code=42)
    assert held(world) == {"FailureTarget": "PodFailurePolicy"}
    world.stop_pods()
    for pod in world.list(PODS):
        if pod.metadata.deletion_timestamp:
            world.set_pod(pod.metadata.name, "Failed")
    world.settle([DECIDER])
    assert held(world) == {"FailureTarget": "PodFailurePolicy", "Failed": "PodFailurePolicy"}
    (message,) = {each.message for each in job(world).status.conditions}
    assert (
        message
        == f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
    )
    assert not any(is_tracked(pod) or pod.live for pod in world.list(PODS))


def test_an_ignored_failure_is_not_counted_and_the_pod_is_replaced() -> None:
    world = World()
    make(world, on_condition("Ignore", "DisruptionTarget"), backoffLimit=0)
    for _ in range(3):
        fail(world, type="DisruptionTarget", status="True")
        assert held(world) == {}
        world.tick(400)
        world.settle([DECIDER])
    assert (job(world).status.failed, len(live(world))) == (0, 1)
    assert sum(is_tracked(pod) for pod in world.list(PODS)) == 1, "ended pods are let go"
    fail(world)
    assert held(world)["Failed"] == "BackoffLimitExceeded"
    assert job(world).status.failed == 1


def per_index(world: World, *rules: Json, limit: int = 1, completions: int = 3, **spec: Any) -> None:
    make(
        world,
        *rules,
        completions=completions,
        parallelism=completions,
        completionMode="Indexed",
        backoffLimitPerIndex=limit,
        **spec,
    )


def test_an_index_that_fails_too_often_is_given_up_and_the_others_go_on() -> None:
    world = World()
    per_index(world)
    fail(world, "1")
    assert "1" not in live(world), "not before a delay"
    assert world.decide(DECIDER, KEY).again_at == NOW + 10
    world.tick(10)
    world.settle([DECIDER])
    assert live(world)["1"].metadata.annotations[FAILURES] == "1"
    assert live(world)["0"].metadata.annotations[FAILURES] == "0"
    fail(world, "1")
    assert job(world).status.failed_indexes == "1"
    world.tick(1000)
    world.settle([DECIDER])
    assert sorted(live(world)) == ["0", "2"]
    succeed(world, "0")
    assert held(world) == {}
    succeed(world, "2")
    status = job(world).status
    assert held(world) == {"FailureTarget": "FailedIndexes", "Failed": "FailedIndexes"}
    assert (status.completed_indexes, status.failed_indexes, status.succeeded, status.failed) == (
        "0,2",
        "1",
        2,
        2,
    )
    assert status.conditions[-1].message == "Job has failed indexes"
    assert status.uncounted_terminated_pods == {}


def test_delays_of_an_index_double_and_hold_nobody_else_up() -> None:
    world = World()
    per_index(world, limit=5)
    for delay in (10, 20, 40):
        fail(world, "0")
        failed_at = world.now
        assert world.decide(DECIDER, KEY).again_at == failed_at + delay
        fail(world, "1")
        world.tick(delay)
        world.settle([DECIDER])
        assert sorted(live(world)) == ["0", "1", "2"]


@pytest.mark.parametrize(("most", "reason"), [(0, "MaxFailedIndexesExceeded"), (1, None), (None, None)])
def test_too_many_failed_indexes_end_the_job(most: int | None, reason: str | None) -> None:
    world = World()
    per_index(world, limit=0, **({"maxFailedIndexes": most} if most is not None else {}))
    fail(world, "2")
    assert held(world).get("FailureTarget") == reason
    assert job(world).status.failed_indexes == "2"
    assert (len(live(world)) == 0) == (reason is not None)


def test_an_index_fails_at_once_where_the_policy_says_so() -> None:
    world = World()
    per_index(world, on_codes("FailIndex", "In", 7), on_codes("Ignore", "In", 8), limit=3)
    fail(world, "0", 7)
    fail(world, "1", 8)
    assert job(world).status.failed_indexes == "0"
    world.tick(10)
    world.settle([DECIDER])
    notes = live(world)["1"].metadata.annotations
    assert (notes[FAILURES], notes[IGNORED]) == ("0", "1")
    assert "0" not in live(world)


def test_nobody_can_take_away_how_often_an_index_failed() -> None:
    world = World()
    per_index(world, limit=1, completions=1)
    fail(world, "0")
    (pod,) = world.list(PODS)
    assert is_tracked(pod), "until its successor is there"
    world.delete(PODS, pod.metadata.name)
    world.stop_pods()
    world.tick(10)
    world.settle([DECIDER])
    assert live(world)["0"].metadata.annotations[FAILURES] == "1"
    world.stop_pods()
    assert len(world.list(PODS)) == 1
    assert job(world).status.failed == 1


def test_a_pod_that_was_given_up_is_no_failure_of_its_index() -> None:
    world = World()
    per_index(world, limit=1, completions=1)
    fail(world, "0")
    world.tick(10)
    world.settle([DECIDER])
    for suspend in (True, False):
        world.edit(JOBS, "sum", {"spec": {"suspend": suspend}})
        world.settle([DECIDER])
    assert live(world)["0"].metadata.annotations[FAILURES] == "1"


@pytest.mark.parametrize(
    ("rules", "completed", "met"),
    [
        ([{"succeededCount": 2}], {0}, ""),
        ([{"succeededCount": 2}], {0, 4}, "Matched rules at index 0"),
        ([{"succeededIndexes": "0,2-3"}], {0, 2}, ""),
        ([{"succeededIndexes": "0,2-3"}], {0, 2, 3}, "Matched rules at index 0"),
        ([{"succeededIndexes": "0,2-3", "succeededCount": 1}], {1, 4}, ""),
        ([{"succeededIndexes": "0,2-3", "succeededCount": 1}], {3}, "Matched rules at index 0"),
        ([{"succeededIndexes": "4"}, {"succeededCount": 1}], {1}, "Matched rules at index 1"),
    ],
)
def test_when_a_success_policy_is_met(rules: list[Json], completed: set[int], met: str) -> None:
    world = World()
    make(world, completions=5, parallelism=1, completionMode="Indexed", successPolicy={"rules": rules})
    assert success_of(job(world), frozenset(completed)) == met


def test_a_success_policy_ends_the_job_and_what_still_runs() -> None:
    world = World()
    policy = {"rules": [{"succeededIndexes": "0"}]}
    make(world, completions=3, parallelism=3, completionMode="Indexed", successPolicy=policy)
    world.start_pods()
    succeed(world, "0")
    assert held(world) == {"SuccessCriteriaMet": "SuccessPolicy"}
    assert live(world) == {}
    for pod in world.list(PODS):
        if not pod.finished:
            world.set_pod(pod.metadata.name, "Failed")
    world.settle([DECIDER])
    assert held(world) == {"SuccessCriteriaMet": "SuccessPolicy", "Complete": "SuccessPolicy"}
    assert job(world).status.completion_time == timestamp(world.now)
    assert job(world).status.completed_indexes == "0"


@pytest.mark.parametrize(
    ("manager", "ours"), [("kubernetes.io/job-controller", True), ("acme.io/other", False)]
)
def test_a_job_with_another_manager_is_left_alone(manager: str, ours: bool) -> None:
    world = World()
    make(world, managedBy=manager)
    assert (world.decide(DECIDER, KEY) == NOTHING) is not ours
    assert len(live(world)) == int(ours)

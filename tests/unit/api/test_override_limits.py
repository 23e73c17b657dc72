"""What a SchedulerOverride may give and close: the priority of a class within its quotas, a share of what there is."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, User
from fairlead.model.kind import Json
from tests.inprocess import InProcess
from tests.unit.api.test_overrides import OVERRIDES, PLANE, made, override, plane

__all__ = ["plane"]
ONE = f"{OVERRIDES.format('default')}/calm"
OVERRIDER = User("system:fairlead:overrides", groups=(MASTERS,))


def rush(class_name: str = "urgent", **more: Any) -> Json:
    return {"priorityClassName": class_name, **more}


@pytest.fixture
def classes(plane: InProcess) -> InProcess:
    for name, value, policy in (
        ("urgent", 1000, "PreemptLowerPriority"),
        ("calm", 10, "Never"),
        ("system-cluster-critical", 2_000_000_000, "PreemptLowerPriority"),
    ):
        body = {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": policy,
        }
        assert plane.post("/apis/scheduling.k8s.io/v1/priorityclasses", body)[0] == 201
    return plane


def quota(plane: InProcess, hard: Json, class_name: str = "urgent") -> None:
    selector = {
        "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": [class_name]}]
    }
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": hard, "scopeSelector": selector},
    }
    assert plane.post("/api/v1/namespaces/default/resourcequotas", body)[0] == 201


@pytest.mark.parametrize(
    ("changes", "stamped"),
    [
        (rush(), {"value": 1000, "preemptionPolicy": "PreemptLowerPriority"}),
        (rush(preemptionPolicy="Never"), {"value": 1000, "preemptionPolicy": "Never"}),
        (rush("calm"), {"value": 10, "preemptionPolicy": "Never"}),
    ],
)
def test_the_priority_is_stamped_as_its_class_has_it(
    classes: InProcess, changes: Json, stamped: Json
) -> None:
    status, found = made(classes, override(changes=changes, priority={"value": 5_000_000}))
    assert status == 201, found
    assert (found["spec"]["priority"], found["spec"]["changes"]["priorityReplicas"]) == (stamped, 1)


REFUSED = [
    (rush("nope"), "deployment/web", "there is no such PriorityClass; there are calm"),
    (rush("system-cluster-critical"), "deployment/web", "is for the plane's own pods"),
    (rush(priorityReplicas=0), "deployment/web", "must be between 1 and 32"),
    (rush(priorityReplicas=33), "deployment/web", "must be between 1 and 32"),
    (rush(preemptionPolicy="PreemptLowerPriority"), "deployment/web", "Never"),
    ({"priorityReplicas": 2, "pauseRollout": True}, "deployment/web", "say which PriorityClass"),
]


@pytest.mark.parametrize(("changes", "target", "told"), REFUSED)
def test_a_priority_that_may_not_be_given_is_refused_with_what_to_change(
    classes: InProcess, changes: Json, target: str, told: str
) -> None:
    status, found = made(classes, override(target, changes=changes))
    assert (status, told in found["message"]) == (422, True), found["message"]


@pytest.mark.parametrize("target", ["cluster", "zone/a"])
def test_it_is_meant_for_workloads_before_others(classes: InProcess, target: str) -> None:
    status, found = made(classes, override(target, changes=rush()), "kube-system")
    assert (status, "priorityClassName" in found["message"]) == (422, True)


def test_a_second_one_for_the_same_workload_is_refused_with_the_name_of_the_first(classes: InProcess) -> None:
    assert made(classes, override(changes=rush()))[0] == 201
    status, found = made(classes, override("namespace", changes=rush("calm"), name="two"))
    assert (status, "default/calm gives deployment/web the priority of urgent" in found["message"]) == (
        422,
        True,
    )
    assert made(classes, override("deployment/db", changes=rush(), name="other"))[0] == 201
    assert made(classes, override(changes=rush(), name="longer", replaces="calm"))[0] == 201


def test_what_the_quota_of_the_class_does_not_leave_nobody_gets_by_an_override(classes: InProcess) -> None:
    quota(classes, {"pods": "2"})
    status, found = made(classes, override(changes=rush(priorityReplicas=3)))
    assert (status, "exceeded quota: few, requested: pods=3" in found["message"]) == (422, True), found
    assert made(classes, override(changes=rush(priorityReplicas=2)))[0] == 201
    status, found = made(classes, override("deployment/db", changes=rush(), name="other"))
    assert (status, "2 of them by other overrides" in found["message"]) == (422, True), found


def test_a_quota_of_another_class_says_nothing(classes: InProcess) -> None:
    quota(classes, {"pods": "1"}, "calm")
    assert made(classes, override(changes=rush(priorityReplicas=3)))[0] == 201


def test_cpu_that_the_quota_of_the_class_does_not_leave_is_refused_too(classes: InProcess) -> None:
    needs = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}}]
    template = {"metadata": {"labels": {"app": "big"}}, "spec": {"containers": needs}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "big"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "big"}, "spec": spec}
    assert classes.post("/apis/apps/v1/namespaces/default/deployments", body)[0] == 201
    quota(classes, {"requests.cpu": "3"})
    status, found = made(classes, override("deployment/big", changes=rush(priorityReplicas=2)))
    assert (status, "requests.cpu=4" in found["message"]) == (422, True), found
    assert made(classes, override("deployment/big", changes=rush()))[0] == 201


def test_above_the_limit_a_second_person_has_to_approve(classes: InProcess) -> None:
    settings = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "PlaneSettings",
        "metadata": {"name": "default"},
        "spec": {"overrides": {"priorityMax": 500}},
    }
    assert classes.post("/apis/fairlead.dev/v1/planesettings", settings)[0] == 201
    _, found = made(classes, override(changes=rush(priorityReplicas=2)))
    told = "it gives priority 1000 to 2 replicas, and spec.overrides.priorityMax is 500"
    assert found["spec"]["approval"] == told


def test_the_server_counts_whom_it_raises_and_nobody_else_names_them(classes: InProcess) -> None:
    assert made(classes, override(changes=rush(priorityReplicas=2)))[0] == 201
    names = [{"namespace": "default", "name": name, "uid": name} for name in "abc"]
    body = {"status": {"raised": names[:2]}}
    assert classes.patch(f"{ONE}/status", body, user=OVERRIDER)[0] == 200
    status, answer = classes.patch(f"{ONE}/status", {"status": {"raised": names}}, user=OVERRIDER)
    assert (status, "raises 2 replicas at a time" in answer["message"]) == (403, True), answer
    status, answer = classes.patch(f"{ONE}/status", {"status": {"raised": names[:1]}})
    assert (status, "by the plane alone" in answer["message"]) == (403, True)


def sized(plane: InProcess, name: str, cpu: str, memory: str) -> None:
    room = {"cpu": cpu, "memory": memory, "pods": "110"}
    status, found = plane.patch(f"/api/v1/nodes/{name}/status", {"status": {"allocatable": room}}, user=PLANE)
    assert status == 200, found


@pytest.mark.parametrize(
    ("cpu", "memory", "told"),
    [
        ("4", "8Gi", ""),
        ("12", "8Gi", "it closes 12 of 24 cpu, and spec.overrides.capacityShareMax is 0.34"),
        ("4", "40Gi", "it closes 40Gi of 64Gi memory, and spec.overrides.capacityShareMax is 0.34"),
    ],
)
def test_one_large_node_of_four_is_too_much_for_one_person(
    plane: InProcess, cpu: str, memory: str, told: str
) -> None:
    sized(plane, "n1", cpu, memory)
    for name in ("n2", "n3", "n4"):
        sized(plane, name, "4", "8Gi")
    status, found = made(plane, override("zone/a", changes={"drain": True}), "kube-system")
    assert status == 201, found
    assert found["spec"].get("approval", "") == told

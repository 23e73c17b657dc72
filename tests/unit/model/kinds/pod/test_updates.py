"""What may change in a pod, how it is deleted, and what a status write may say."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kinds.pod.kind import KIND

Json = dict[str, Any]
ALLOWED = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod(**spec: Any) -> Json:
    made: Json = {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "web:1"}], **spec},
    }
    KIND.defaults(made)
    return made


def causes(old: Json, **spec: Any) -> list[str]:
    new = copy.deepcopy(old)
    new["spec"].update(spec)
    problems = Problems()
    KIND.validate_update(new, old, problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


def node_affinity(*terms: Json) -> Json:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def expressions(*keys: str) -> Json:
    return {"matchExpressions": [{"key": key, "operator": "Exists"} for key in keys]}


GATED = pod(schedulingGates=[{"name": "a"}, {"name": "b"}], nodeSelector={"k": "v"})


@pytest.mark.parametrize(
    ("old", "change"),
    [
        (pod(), {}),
        (pod(), {"containers": [{**pod()["spec"]["containers"][0], "image": "web:2"}]}),
        (pod(), {"activeDeadlineSeconds": 10}),
        (pod(activeDeadlineSeconds=10), {"activeDeadlineSeconds": 5}),
        (pod(), {"tolerations": [{"operator": "Exists"}]}),
        (
            pod(tolerations=[{"key": "a", "effect": "NoExecute", "tolerationSeconds": 1}]),
            {"tolerations": [{"key": "a", "effect": "NoExecute", "tolerationSeconds": 9}]},
        ),
        (pod(terminationGracePeriodSeconds=-5), {"terminationGracePeriodSeconds": 1}),
        (GATED, {"schedulingGates": [{"name": "b"}]}),
        (GATED, {"nodeSelector": {"k": "v", "more": "x"}}),
        (GATED, {"affinity": node_affinity(expressions("a"))}),
        (
            pod(schedulingGates=[{"name": "a"}], affinity=node_affinity(expressions("a"))),
            {"affinity": node_affinity(expressions("a", "b"))},
        ),
    ],
)
def test_a_pod_may_change_in_these_ways(old: Json, change: Json) -> None:
    assert causes(old, **change) == []


@pytest.mark.parametrize(
    ("old", "change", "wanted"),
    [
        (pod(), {"nodeName": "n"}, ALLOWED),
        (pod(), {"nodeSelector": {"a": "b"}}, ALLOWED),
        (pod(), {"terminationGracePeriodSeconds": 1}, ALLOWED),
        (pod(), {"containers": [{**pod()["spec"]["containers"][0], "args": ["x"]}]}, ALLOWED),
        (
            pod(),
            {"containers": []},
            "spec.containers: Forbidden: pod updates may not add or remove containers",
        ),
        (
            pod(activeDeadlineSeconds=5),
            {"activeDeadlineSeconds": 6},
            "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
        ),
        (
            pod(activeDeadlineSeconds=5),
            {"activeDeadlineSeconds": None},
            "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil",
        ),
        (
            pod(tolerations=[{"key": "a"}]),
            {"tolerations": []},
            "spec.tolerations: Forbidden: existing toleration can not be modified except",
        ),
        (
            GATED,
            {"schedulingGates": [{"name": "c"}]},
            "spec.schedulingGates[0]: Forbidden: only deletion is allowed, but found new scheduling gate 'c'",
        ),
        (
            GATED,
            {"nodeSelector": {"k": "other"}},
            'spec.nodeSelector: Invalid value: {"k":"other"}: only additions to spec.nodeSelector',
        ),
        (GATED, {"affinity": {"podAffinity": {}}}, ALLOWED),
        (
            pod(schedulingGates=[{"name": "a"}], affinity=node_affinity(expressions("a"))),
            {"affinity": node_affinity(expressions("b"))},
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]: Invalid value",
        ),
        (
            pod(schedulingGates=[{"name": "a"}], affinity=node_affinity(expressions("a"))),
            {"affinity": node_affinity(expressions("a"), expressions("b"))},
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: Invalid value",
        ),
    ],
)
def test_a_pod_may_not_change_in_these(old: Json, change: Json, wanted: str) -> None:
    found = causes(old, **change)
    assert len(found) == 1
    assert found[0].startswith(wanted)


def test_the_refusal_names_every_changed_field() -> None:
    (found,) = causes(pod(), nodeName="n", hostname="h")
    assert found.endswith("changed: spec.hostname, spec.nodeName")


def status_causes(old: Json, new_status: Json) -> list[str]:
    new = copy.deepcopy(old)
    new["status"] = new_status
    problems = Problems()
    KIND.validate_status(new, old, problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


ENDED: Json = {"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 1}}}]}
RUNNING: Json = {"containerStatuses": [{"name": "c", "state": {"running": {}}}]}


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ("Always", []),
        ("OnFailure", []),
        (
            "Never",
            ["status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"],
        ),
    ],
)
def test_a_container_that_ended_for_good_does_not_run_again(policy: str, wanted: list[str]) -> None:
    assert status_causes({**pod(restartPolicy=policy), "status": ENDED}, RUNNING) == wanted


def test_a_status_names_real_addresses() -> None:
    (found,) = status_causes(pod(), {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.256"}]})
    assert found.startswith('status.podIPs[1]: Invalid value: "10.0.0.256": must be a valid IP address')


def test_a_status_write_does_not_bind_a_pod() -> None:
    problems = Problems()
    KIND.validate_status(pod(nodeName="n"), pod(), problems)
    assert problems.summary() == "spec.nodeName: Forbidden: may not be changed directly"


def test_a_status_nominates_a_node_by_a_possible_name() -> None:
    (found,) = status_causes(pod(), {"nominatedNodeName": "N"})
    assert found.startswith('status.nominatedNodeName: Invalid value: "N": a lowercase RFC 1123 subdomain')


@pytest.mark.parametrize(
    ("spec", "phase", "asked", "seconds"),
    [
        ({"nodeName": "n"}, "Running", None, 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 5}, "Running", None, 5),
        ({"nodeName": "n"}, "Running", 7, 7),
        ({"nodeName": "n"}, "Running", 0, 0),
        ({"nodeName": "n"}, "Running", -1, 1),
        ({}, "Pending", 7, 0),
        ({"nodeName": "n"}, "Succeeded", 7, 0),
        ({"nodeName": "n"}, "Failed", None, 0),
    ],
)
def test_grace_is_what_was_asked_for_unless_nothing_runs(
    spec: Json, phase: str, asked: int | None, seconds: int
) -> None:
    assert KIND.grace_seconds({"spec": spec, "status": {"phase": phase}}, asked) == seconds


def test_pods_can_be_selected_by_the_fields_kubernetes_offers() -> None:
    made = pod(nodeName="n", serviceAccountName="sa", hostNetwork=True)
    made["status"].update(podIPs=[{"ip": "10.0.0.1"}], nominatedNodeName="m")
    assert {path: read(made) for path, read in KIND.selectable.items()} == {
        "spec.nodeName": "n",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "sa",
        "spec.hostNetwork": "true",
        "status.phase": "Pending",
        "status.podIP": "10.0.0.1",
        "status.podIPs": "10.0.0.1",
        "status.nominatedNodeName": "m",
    }

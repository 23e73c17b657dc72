"""The rows of `kubectl get pods`, with and without -o wide."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.model.kinds.pod.kind import KIND

Json = dict[str, Any]
NOW = 1_700_000_000.0


def row(pod: Json) -> dict[str, Any]:
    return {column.name: column.cell(pod, NOW) for column in KIND.columns}


def pod(status: Json, **spec: Any) -> Json:
    return {
        "metadata": {"name": "p", "creationTimestamp": timestamp(NOW - 90)},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], **spec},
        "status": status,
    }


def container(name: str, state: Json, restarts: int = 0, **more: Any) -> Json:
    return {"name": name, "state": state, "restartCount": restarts, "ready": "running" in state, **more}


RUNNING: Json = {"running": {}}
COMPLETED: Json = {"terminated": {"exitCode": 0, "reason": "Completed"}}
ENDED_AT: Json = {"terminated": {"finishedAt": timestamp(NOW - 200)}}
INIT: Json = {"initContainers": [{"name": "i"}, {"name": "j"}]}
SIDECAR: Json = {"initContainers": [{"name": "i", "restartPolicy": "Always"}]}


@pytest.mark.parametrize(
    ("status", "spec", "ready", "word", "restarts"),
    [
        ({"phase": "Pending"}, {}, "0/2", "Pending", "0"),
        ({"phase": "Failed", "reason": "Evicted"}, {}, "0/2", "Evicted", "0"),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            {},
            "0/2",
            "SchedulingGated",
            "0",
        ),
        (
            {"phase": "Running", "containerStatuses": [container("a", RUNNING), container("b", RUNNING)]},
            {},
            "2/2",
            "Running",
            "0",
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    container("a", {"waiting": {"reason": "CrashLoopBackOff"}}, 3, lastState=ENDED_AT),
                    container("b", RUNNING),
                ],
            },
            {},
            "1/2",
            "CrashLoopBackOff",
            "3 (3m20s ago)",
        ),
        (
            {"phase": "Succeeded", "containerStatuses": [container("a", COMPLETED)]},
            {},
            "0/2",
            "Completed",
            "0",
        ),
        (
            {"phase": "Failed", "containerStatuses": [container("a", {"terminated": {"exitCode": 3}})]},
            {},
            "0/2",
            "ExitCode:3",
            "0",
        ),
        (
            {"phase": "Failed", "containerStatuses": [container("a", {"terminated": {"signal": 9}})]},
            {},
            "0/2",
            "Signal:9",
            "0",
        ),
        (
            {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [container("a", COMPLETED), container("b", RUNNING)],
            },
            {},
            "1/2",
            "Running",
            "0",
        ),
        (
            {"phase": "Running", "containerStatuses": [container("a", COMPLETED), container("b", RUNNING)]},
            {},
            "1/2",
            "NotReady",
            "0",
        ),
        (
            {
                "phase": "Pending",
                "initContainerStatuses": [container("i", COMPLETED), container("j", RUNNING, 2)],
                "containerStatuses": [container("a", {"waiting": {"reason": "PodInitializing"}})],
            },
            INIT,
            "0/2",
            "Init:1/2",
            "2",
        ),
        (
            {"initContainerStatuses": [container("i", {"waiting": {"reason": "ImagePullBackOff"}})]},
            INIT,
            "0/2",
            "Init:ImagePullBackOff",
            "0",
        ),
        (
            {"initContainerStatuses": [container("i", {"terminated": {"exitCode": 1, "reason": "Error"}})]},
            INIT,
            "0/2",
            "Init:Error",
            "0",
        ),
        (
            {"initContainerStatuses": [container("i", {"terminated": {"exitCode": 7}})]},
            INIT,
            "0/2",
            "Init:ExitCode:7",
            "0",
        ),
        (
            {
                "phase": "Running",
                "initContainerStatuses": [container("i", RUNNING, 1, started=True, lastState=ENDED_AT)],
                "containerStatuses": [container("a", RUNNING), container("b", RUNNING)],
            },
            SIDECAR,
            "3/3",
            "Running",
            "1 (3m20s ago)",
        ),
    ],
)
def test_status_ready_and_restarts_read_as_in_kubectl(
    status: Json, spec: Json, ready: str, word: str, restarts: str
) -> None:
    cells = row(pod(status, **spec))
    assert (cells["Ready"], cells["Status"], cells["Restarts"]) == (ready, word, restarts)


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
        ({"phase": "Succeeded"}, "Succeeded"),
    ],
)
def test_a_pod_being_deleted_says_so(status: Json, word: str) -> None:
    deleted = pod(status)
    deleted["metadata"]["deletionTimestamp"] = timestamp(NOW)
    assert row(deleted)["Status"] == word


def test_wide_columns_tell_where_the_pod_is() -> None:
    shown = row(
        pod(
            {
                "podIP": "10.0.0.9",
                "nominatedNodeName": "m",
                "conditions": [{"type": "x", "status": "True"}],
            },
            nodeName="n",
            readinessGates=[{"conditionType": "x"}, {"conditionType": "y"}],
        )
    )
    assert shown["Age"] == "90s"
    wide = ("IP", "Node", "Nominated Node", "Readiness Gates")
    assert [shown[name] for name in wide] == ["10.0.0.9", "n", "m", "1/2"]
    empty = row({})
    assert [empty[name] for name in wide] == ["<none>"] * 4
    assert empty["Age"] == "<unknown>"


def test_columns_stand_in_kubectls_order() -> None:
    assert [(column.name, column.priority) for column in KIND.columns] == [
        ("Ready", 0),
        ("Status", 0),
        ("Restarts", 0),
        ("Age", 0),
        ("IP", 1),
        ("Node", 1),
        ("Nominated Node", 1),
        ("Readiness Gates", 1),
        ("Stage", 1),
    ]

"""The binding subresource: a pod gets its node once."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from tests.inprocess import InProcess
from tests.unit.api.things import PODS, causes, made, pod

ONE = f"{PODS}/web"
TO_NODE_1 = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "web"},
    "target": {"kind": "Node", "name": "node-1"},
}


def test_a_binding_sets_the_node_and_says_that_the_pod_is_scheduled() -> None:
    plane = InProcess()
    created = made(plane, PODS, pod(annotations={"mine": "1"}))
    plane.patch(
        f"{ONE}/status",
        {
            "status": {
                "conditions": [
                    {"type": "PodScheduled", "status": "False"},
                    {"type": "Ready", "status": "False"},
                ]
            }
        },
    )
    binding = {**TO_NODE_1, "metadata": {"annotations": {"binder": "2"}}}
    status, body = plane.post(f"{ONE}/binding", binding)
    assert (status, body) == (
        201,
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201},
    )
    _, bound = plane.get(ONE)
    assert bound["spec"] == {**created["spec"], "nodeName": "node-1"}
    assert bound["metadata"]["annotations"] == {"mine": "1", "binder": "2"}
    assert bound["status"]["conditions"] == [
        {"type": "Ready", "status": "False"},
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": timestamp(plane.now)},
    ]


def test_a_status_patch_that_changes_nothing_is_none_after_a_binding_either() -> None:
    plane = InProcess()
    made(plane, PODS, pod())
    plane.post(f"{ONE}/binding", TO_NODE_1)
    before = plane.store.revision
    plane.patch(f"{ONE}/status", {"status": {"phase": "Pending"}})
    assert plane.store.revision == before


@pytest.mark.parametrize("node", ["node-1", "node-2"])
def test_a_second_binding_is_a_conflict_that_names_the_node(node: str) -> None:
    plane = InProcess()
    made(plane, PODS, pod())
    plane.post(f"{ONE}/binding", TO_NODE_1)
    status, body = plane.post(f"{ONE}/binding", {"target": {"name": node}})
    assert (status, body["reason"]) == (409, "Conflict")
    assert body["message"] == (
        'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "node-1"'
    )
    assert body["details"] == {"name": "web", "kind": "pods/binding"}


def test_of_two_bindings_at_once_one_wins() -> None:
    plane = InProcess()
    made(plane, PODS, pod())
    commit = plane.commit
    first: list[int] = []

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        first.append(plane.post(f"{ONE}/binding", {"target": {"name": "node-2"}})[0])
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert plane.post(f"{ONE}/binding", TO_NODE_1)[0] == 409
    assert first == [201]
    assert plane.get(ONE)[1]["spec"]["nodeName"] == "node-2"


def test_a_pod_that_is_going_or_gated_or_another_is_not_bound() -> None:
    plane = InProcess()
    created = made(plane, PODS, pod(finalizers=["example.com/hold"]))
    gated = pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    made(plane, PODS, gated)
    other = {**TO_NODE_1, "metadata": {"uid": "11111111-2222-4333-8444-555555555555"}}
    status, body = plane.post(f"{ONE}/binding", other)
    assert (status, created["metadata"]["uid"] in body["message"]) == (409, True)
    status, body = plane.post(f"{PODS}/gated/binding", {"target": {"name": "node-1"}})
    assert (status, "schedulingGates" in body["message"]) == (409, True)
    plane.delete(ONE)
    status, body = plane.post(f"{ONE}/binding", TO_NODE_1)
    assert (status, "is being deleted, cannot be assigned to a host" in body["message"]) == (409, True)
    assert plane.post(f"{PODS}/absent/binding", {"target": {"name": "node-1"}})[0] == 404


@pytest.mark.parametrize(
    ("target", "cause"),
    [
        (None, ("FieldValueRequired", "target")),
        ({}, ("FieldValueRequired", "target.name")),
        ({"name": ""}, ("FieldValueRequired", "target.name")),
        ({"name": "Not A Node"}, ("FieldValueInvalid", "target.name")),
        ({"kind": "Pod", "name": "x"}, ("FieldValueNotSupported", "target.kind")),
    ],
)
def test_a_binding_names_a_node(target: Any, cause: tuple[str, str]) -> None:
    plane = InProcess()
    made(plane, PODS, pod())
    status, body = plane.post(f"{ONE}/binding", {"target": target})
    assert status == 422
    assert cause in causes(body)


def test_a_binding_for_another_pod_is_refused() -> None:
    plane = InProcess()
    made(plane, PODS, pod())
    status, body = plane.post(f"{ONE}/binding", {**TO_NODE_1, "metadata": {"name": "other"}})
    assert (status, "does not match" in body["message"]) == (400, True)
    assert plane.post(f"{ONE}/binding", {**TO_NODE_1, "kind": "Pod"})[0] == 400


def test_an_empty_kind_means_a_node() -> None:
    plane = InProcess()
    made(plane, PODS, pod())
    assert plane.post(f"{ONE}/binding", {"target": {"kind": "", "name": "node-1"}})[0] == 201

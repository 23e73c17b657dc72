"""Who took a node out of use, when and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, User
from tests.inprocess import ADMIN, InProcess

Json = dict[str, Any]
NODE = "/api/v1/nodes/n1"
AUTHOR, REASON, AT = "fairlead.dev/author", "fairlead.dev/reason", "fairlead.dev/cordoned-at"
TAINTS = "fairlead.dev/taint-authors"
ANNA = User("anna", groups=(MASTERS,))
CONTROLLER = User("system:fairlead:node-health", groups=(MASTERS,))
DEDICATED = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
SUSPECT = {"key": "fairlead.dev/suspect", "effect": "NoSchedule"}


@pytest.fixture
def plane() -> InProcess:
    plane = InProcess()
    assert plane.post("/api/v1/nodes", {"metadata": {"name": "n1", "annotations": {"other": "x"}}})[0] == 201
    return plane


def kept_annotations(plane: InProcess) -> Json:
    found: Json = plane.get(NODE)[1]["metadata"]["annotations"]
    assert found.pop("other") == "x"
    return found


def patch(plane: InProcess, body: Json, user: User = ANNA) -> None:
    status, answer = plane.patch(NODE, body, user=user)
    assert status == 200, answer
    plane.now += 60


def test_a_cordon_is_signed_and_dated_and_its_end_takes_that_away(plane: InProcess) -> None:
    patch(plane, {"spec": {"unschedulable": True}})
    assert kept_annotations(plane) == {AUTHOR: "anna", AT: "2027-01-15T08:00:00Z"}
    patch(plane, {"spec": {"unschedulable": False}}, ADMIN)
    assert kept_annotations(plane) == {}


def test_a_reason_may_come_with_the_cordon_before_or_after_it(plane: InProcess) -> None:
    patch(plane, {"metadata": {"annotations": {REASON: "before"}}})
    assert kept_annotations(plane) == {REASON: "before"}
    patch(plane, {"spec": {"unschedulable": True}})
    assert kept_annotations(plane)[REASON] == "before"
    patch(plane, {"metadata": {"annotations": {REASON: "after"}}}, ADMIN)
    assert (kept_annotations(plane)[REASON], kept_annotations(plane)[AUTHOR]) == ("after", "anna")
    patch(plane, {"spec": {"unschedulable": None}})
    assert kept_annotations(plane) == {}


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"annotations": {AUTHOR: "somebody else", AT: "2020-01-01T00:00:00Z"}}},
        {"metadata": {"annotations": {AUTHOR: None, AT: None}}},
        {"spec": {"unschedulable": True}},
    ],
)
def test_what_was_stamped_stays_while_it_holds(plane: InProcess, body: Json) -> None:
    patch(plane, {"spec": {"unschedulable": True}})
    before = kept_annotations(plane)
    patch(plane, body, ADMIN)
    assert kept_annotations(plane) == before


def test_nobody_signs_for_a_cordon_that_is_not(plane: InProcess) -> None:
    patch(plane, {"metadata": {"annotations": {AUTHOR: "somebody", AT: "x", TAINTS: "{}"}}})
    assert kept_annotations(plane) == {}


def test_a_node_that_is_created_out_of_use_is_signed_for(plane: InProcess) -> None:
    body = {"metadata": {"name": "n2"}, "spec": {"unschedulable": True}}
    _, made = plane.post("/api/v1/nodes", body, user=ANNA)
    assert made["metadata"]["annotations"][AUTHOR] == "anna"


def test_taints_of_people_are_signed_and_those_of_controllers_are_not(plane: InProcess) -> None:
    patch(plane, {"spec": {"taints": [DEDICATED]}})
    signed = {"dedicated:NoSchedule": "anna 2027-01-15T08:00:00Z"}
    assert json.loads(kept_annotations(plane)[TAINTS]) == signed
    patch(plane, {"spec": {"taints": [DEDICATED, SUSPECT]}}, CONTROLLER)
    assert json.loads(kept_annotations(plane)[TAINTS]) == signed
    patch(plane, {"spec": {"taints": [SUSPECT]}}, ADMIN)
    assert kept_annotations(plane) == {}
    patch(plane, {"spec": {"taints": [SUSPECT, {**DEDICATED, "effect": "NoExecute"}]}}, ADMIN)
    assert list(json.loads(kept_annotations(plane)[TAINTS])) == ["dedicated:NoExecute"]


def test_the_wide_columns_end_with_the_reason(plane: InProcess) -> None:
    patch(plane, {"spec": {"unschedulable": True}, "metadata": {"annotations": {REASON: "new disks"}}})
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    shown = plane.get(NODE, accept=table)[1]
    columns = [column["name"] for column in shown["columnDefinitions"]]
    assert columns[-2:] == ["Container-Runtime", "Reason"]
    assert shown["rows"][0]["cells"][-1] == "new disks (anna)"

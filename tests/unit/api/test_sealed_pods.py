"""Whether at most one of a pod may run is sealed when it is bound."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, User
from fairlead.model.marks import AT_MOST_ONE
from fairlead.port.request import MERGE_PATCH
from tests.inprocess import InProcess

PODS = "/api/v1/namespaces/default/pods"
PLANE = User("system:fairlead:garbage", groups=(MASTERS,))
ANNOTATION = f"metadata.annotations[{AT_MOST_ONE}]"


def owner(kind: str, uid: str = "u1") -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": "set", "uid": uid, "controller": True}


def made(plane: InProcess, *owners: Any, node: str = "n1", one: str | None = None) -> None:
    metadata: dict[str, Any] = {"name": "p", "ownerReferences": list(owners)}
    if one is not None:
        metadata["annotations"] = {AT_MOST_ONE: one}
    spec = {"containers": [{"name": "main", "image": "x"}], **({"nodeName": node} if node else {})}
    status, body = plane.post(PODS, {"metadata": metadata, "spec": spec})
    assert status == 201, body


def fields(answer: tuple[int, Any]) -> list[str]:
    status, body = answer
    return [each["field"] for each in body["details"]["causes"]] if status == 422 else [str(status)]


@pytest.mark.parametrize(("before", "after"), [(None, "true"), ("true", None), ("true", "false")])
def test_the_annotation_cannot_change_after_the_binding(before: str | None, after: str | None) -> None:
    plane = InProcess()
    made(plane, one=before)
    patch = {"metadata": {"annotations": {AT_MOST_ONE: after}}}
    assert fields(plane.patch(f"{PODS}/p", patch)) == [ANNOTATION]
    assert fields(plane.patch(f"{PODS}/p", {"metadata": {"annotations": {"other": "x"}}})) == ["200"]


def test_it_can_before() -> None:
    plane = InProcess()
    made(plane, node="")
    assert fields(plane.patch(f"{PODS}/p", {"metadata": {"annotations": {AT_MOST_ONE: "true"}}})) == ["200"]


@pytest.mark.parametrize(
    ("before", "after", "one", "told"),
    [
        ([owner("StatefulSet")], [], None, "metadata.ownerReferences"),
        ([owner("StatefulSet")], [owner("StatefulSet", "u2")], None, "metadata.ownerReferences"),
        ([], [owner("StatefulSet")], None, "metadata.ownerReferences"),
        ([owner("ReplicaSet")], [], "true", "metadata.ownerReferences"),
        ([owner("ReplicaSet")], [], None, "200"),
        ([], [owner("ReplicaSet")], None, "200"),
    ],
)
def test_the_controlling_owner_cannot_change_where_it_makes_the_difference(
    before: list[Any], after: list[Any], one: str | None, told: str
) -> None:
    plane = InProcess()
    made(plane, *before, one=one)
    patch = {"metadata": {"ownerReferences": after}}
    assert fields(plane.patch(f"{PODS}/p", patch)) == [told]
    assert fields(plane.request("PATCH", f"{PODS}/p", patch, MERGE_PATCH, user=PLANE)) == ["200"]

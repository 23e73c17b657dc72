"""A refusal names everything that is wrong, whoever noticed it."""

from __future__ import annotations

from typing import Any

from tests.inprocess import InProcess

PODS = "/api/v1/namespaces/default/pods"


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}, {"name": "c", "image": "i", "imagePullPolicy": "Sometimes"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "Bad_Name"},
        "spec": {"containers": containers, **spec},
    }


def test_unsupported_values_come_together_with_what_the_kind_objects_to() -> None:
    status, body = InProcess().post(PODS, pod(restartPolicy="Perhaps"))
    assert status == 422
    fields = [cause["field"] for cause in body["details"]["causes"]]
    assert set(fields) >= {
        "spec.containers[1].imagePullPolicy",
        "spec.restartPolicy",
        "metadata.name",
        "spec.containers[1].name",
    }
    assert len(fields) == len(set(fields)), "each problem once"


def test_missing_values_come_together_with_what_the_kind_objects_to() -> None:
    broken = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "Bad_Name"}}
    broken["spec"] = {"containers": [{"image": "i", "ports": [{"containerPort": 99999}]}]}
    status, body = InProcess().post(PODS, broken)
    assert status == 422
    assert [cause["field"] for cause in body["details"]["causes"]] == [
        "spec.containers[0].name",
        "metadata.name",
        "spec.containers[0].ports[0].containerPort",
    ]


def test_what_the_address_or_the_server_gives_is_not_called_missing() -> None:
    unnamed = pod(restartPolicy="Perhaps")
    unnamed["metadata"] = {"generateName": "x-"}
    unnamed["spec"]["containers"].pop()
    _, body = InProcess().post(PODS, unnamed)
    assert [cause["field"] for cause in body["details"]["causes"]] == ["spec.restartPolicy"]


def test_a_patch_is_told_everything_too() -> None:
    plane = InProcess()
    plane.post(
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    )
    patch = {"spec": {"restartPolicy": "Perhaps", "activeDeadlineSeconds": -1}}
    status, body = plane.request("PATCH", f"{PODS}/a", patch, content_type="application/merge-patch+json")
    fields = {cause["field"] for cause in body["details"]["causes"]}
    assert (status, fields) == (422, {"spec.restartPolicy", "spec.activeDeadlineSeconds"})


def test_an_unknown_sort_of_patch_is_refused_before_the_object_is_looked_for() -> None:
    status, body = InProcess().request(
        "PATCH", f"{PODS}/nobody", b"{}", content_type="application/apply-patch+yaml"
    )
    assert status == 415
    assert "application/merge-patch+json" in body["message"]

"""A refusal names everything that is wrong, whoever noticed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.inprocess import InProcess
from tests.samples import SAMPLES
from tests.unit.api.things import KINDS, collection, need, sample

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
        "PATCH", f"{PODS}/nobody", b"{}", content_type="application/apply-patch+cbor"
    )
    assert status == 415
    assert "application/merge-patch+json" in body["message"]


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """(parent, key) of every value in a tree, the parents before what is in them."""
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree))
    for key, value in items:
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


@pytest.mark.parametrize("name", SAMPLES)
def test_an_object_that_lacks_a_part_or_has_an_empty_one_is_judged_all_the_same(name: str) -> None:
    plane, address = InProcess(), collection(KINDS[name], "shop")
    if name == "ChaosExperiment":
        need(plane, KINDS[name])
    for position in range(len(list(_places(sample(name))))):
        for replace in (False, True):
            broken = sample(name)
            parent, key = list(_places(broken))[position]
            if replace:
                parent[key] = type(parent[key])()
            else:
                del parent[key]
            # Anything but an answer would be an exception of a validator that relied on what is not there.
            status, body = plane.post(f"{address}?dryRun=All", broken)
            assert status in (201, 400, 404, 422), body

"""A dry run answers as the write would and leaves no trace: no revision, no event, no line of audit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inprocess import InProcess
from tests.unit.api.things import (
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    configmap,
    deployment,
    made,
    notes,
    pod,
)


def _plane() -> InProcess:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    made(plane, DEPLOYMENTS, deployment())
    made(plane, PODS, pod())
    made(plane, PODS, pod("bound", "node-1"))
    made(plane, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    return plane


_ONE, _POD, _WEB = f"{CONFIGMAPS}/settings", f"{PODS}/web", f"{DEPLOYMENTS}/web"
_SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 7}}

CASES: list[tuple[str, str, Any, int]] = [
    ("POST", f"{CONFIGMAPS}?dryRun=All", configmap("new"), 201),
    ("POST", f"{CONFIGMAPS}?dryRun=All", configmap(), 409),
    ("POST", f"{CONFIGMAPS}?dryRun=All", {"metadata": {"generateName": "x-"}}, 201),
    ("PUT", f"{_ONE}?dryRun=All", {**configmap(), "data": {"b": "2"}}, 200),
    ("PATCH", f"{_ONE}?dryRun=All", {"data": {"b": "2"}}, 200),
    ("PATCH", f"{_WEB}/status?dryRun=All", {"status": {"replicas": 1}}, 200),
    ("PUT", f"{_WEB}/scale?dryRun=All", _SCALE, 200),
    ("PATCH", f"{_WEB}/scale?dryRun=All", {"spec": {"replicas": 7}}, 200),
    ("DELETE", f"{_ONE}?dryRun=All", None, 200),
    ("DELETE", _ONE, {"dryRun": ["All"]}, 200),
    ("DELETE", f"{PODS}/bound?dryRun=All", None, 200),
    ("DELETE", f"{CONFIGMAPS}?dryRun=All", None, 200),
    ("POST", f"{_POD}/binding?dryRun=All", {"target": {"name": "node-1"}}, 201),
    ("POST", f"{_POD}/eviction?dryRun=All", {}, 201),
    ("POST", f"{_POD}/eviction", {"deleteOptions": {"dryRun": ["All"]}}, 201),
    ("PUT", f"{NAMESPACES}/shop/finalize?dryRun=All", {"spec": {"finalizers": []}}, 200),
]


@pytest.mark.parametrize(("method", "target", "body", "status"), CASES)
def test_a_dry_run_leaves_no_trace(method: str, target: str, body: Any, status: int) -> None:
    plane = _plane()
    before = (plane.store.revision, len(plane.published), notes(plane), plane.get("/api/v1/configmaps"))
    media = "application/merge-patch+json" if method == "PATCH" else "application/json"
    answer, shown = plane.request(method, target, body, content_type=media)
    assert answer == status, shown
    assert (
        plane.store.revision,
        len(plane.published),
        notes(plane),
        plane.get("/api/v1/configmaps"),
    ) == before


def test_a_dry_run_shows_what_would_be_stored() -> None:
    plane = _plane()
    _, shown = plane.patch(f"{_WEB}?dryRun=All", {"spec": {"replicas": 9}})
    assert (shown["spec"]["replicas"], shown["metadata"]["generation"]) == (9, 2)
    assert shown["metadata"]["resourceVersion"] == plane.get(_WEB)[1]["metadata"]["resourceVersion"]
    _, shown = plane.post(f"{CONFIGMAPS}?dryRun=All", configmap("new"))
    assert shown["metadata"]["uid"]
    assert "resourceVersion" not in shown["metadata"]
    _, shown = plane.put(f"{_WEB}/scale?dryRun=All", _SCALE)
    assert (shown["kind"], shown["spec"]) == ("Scale", {"replicas": 7})


def test_a_dry_run_is_judged_like_the_write() -> None:
    plane = _plane()
    assert plane.post(f"{CONFIGMAPS}?dryRun=All", configmap("Bad Name"))[0] == 422
    assert plane.post("/api/v1/namespaces/nowhere/configmaps?dryRun=All", configmap())[0] == 404
    assert plane.delete(f"{NAMESPACES}/default?dryRun=All")[0] == 403
    assert plane.post(f"{CONFIGMAPS}?dryRun=Some", configmap("new"))[0] == 400

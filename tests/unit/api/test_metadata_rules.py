"""What the server owns in metadata, when generation moves, and which writes are no writes at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inprocess import InProcess
from tests.unit.api.things import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, configmap, deployment, made

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("change", "bumped"),
    [
        ({"spec": {"replicas": 5}}, True),
        ({"spec": {"template": {"metadata": {"labels": {"more": "labels"}}}}}, True),
        ({"spec": {"paused": True}}, True),
        ({"spec": {"replicas": 2}}, False),
        ({"metadata": {"labels": {"a": "b"}}}, False),
        ({"metadata": {"annotations": {"a": "b"}}}, False),
        ({"metadata": {"finalizers": ["example.com/hold"]}}, False),
        ({"status": {"replicas": 9}}, False),
    ],
)
def test_generation_counts_changes_of_intent_only(change: Json, bumped: bool) -> None:
    plane = InProcess()
    made(plane, DEPLOYMENTS, deployment())
    status, after = plane.patch(f"{DEPLOYMENTS}/web", change)
    assert status == 200
    assert after["metadata"]["generation"] == (2 if bumped else 1)


def test_a_status_write_leaves_generation_alone() -> None:
    plane = InProcess()
    made(plane, DEPLOYMENTS, deployment())
    _, after = plane.patch(f"{DEPLOYMENTS}/web/status", {"status": {"replicas": 2, "observedGeneration": 1}})
    assert (after["status"]["replicas"], after["metadata"]["generation"]) == (2, 1)


def test_the_beginning_of_a_deletion_is_a_change_of_intent() -> None:
    plane = InProcess()
    made(plane, DEPLOYMENTS, deployment(finalizers=["example.com/hold"]))
    _, after = plane.delete(f"{DEPLOYMENTS}/web")
    assert after["metadata"]["generation"] == 2
    _, again = plane.delete(f"{DEPLOYMENTS}/web")
    assert again == after, "asked twice is asked once"


_OWNED: Json = {
    "uid": "11111111-2222-4333-8444-555555555555",
    "creationTimestamp": "2001-01-01T00:00:00Z",
    "generation": 77,
    "deletionTimestamp": "2001-01-01T00:00:00Z",
    "deletionGracePeriodSeconds": 3,
    "selfLink": "/somewhere",
}


@pytest.mark.parametrize("field", sorted(_OWNED))
def test_what_the_server_owns_cannot_be_brought_along(field: str) -> None:
    plane = InProcess()
    plain = made(plane, DEPLOYMENTS, deployment("plain"))
    created = made(plane, DEPLOYMENTS, deployment("web", **{field: _OWNED[field]}))
    assert created["metadata"].get(field) != _OWNED[field]
    assert (field in created["metadata"]) is (field in plain["metadata"])


@pytest.mark.parametrize("field", sorted(set(_OWNED) - {"uid"}))
def test_what_the_server_owns_cannot_be_changed(field: str) -> None:
    plane = InProcess()
    created = made(plane, DEPLOYMENTS, deployment())
    status, after = plane.patch(f"{DEPLOYMENTS}/web", {"metadata": {field: _OWNED[field]}})
    assert (status, after) == (200, created), "ignored, and so no change at all"


def test_a_create_that_names_a_revision_is_refused() -> None:
    status, body = InProcess().post(CONFIGMAPS, configmap(resourceVersion="5"))
    assert (status, body["reason"]) == (400, "BadRequest")
    assert "resourceVersion" in body["message"]


@pytest.mark.parametrize("media", ["merge-patch", "strategic-merge-patch", "json-patch"])
def test_a_write_that_changes_nothing_takes_no_revision(media: str) -> None:
    plane = InProcess()
    created = made(plane, DEPLOYMENTS, deployment())
    before, lines = plane.store.revision, len(plane.published)
    nothing: Any = [] if media == "json-patch" else {"spec": {"replicas": 2}}
    assert plane.patch(f"{DEPLOYMENTS}/web", nothing, media) == (200, created)
    assert plane.put(f"{DEPLOYMENTS}/web", deployment()) == (200, created), "defaults fill in the rest"
    assert plane.patch(f"{DEPLOYMENTS}/web/status", {"status": {}}) == (200, created)
    assert (plane.store.revision, len(plane.published)) == (before, lines)


def test_a_body_may_leave_out_what_its_address_says() -> None:
    plane = InProcess()
    bare = {"metadata": {"name": "settings"}, "data": {"a": "1"}}
    created = made(plane, CONFIGMAPS, bare)
    assert (created["apiVersion"], created["kind"]) == ("v1", "ConfigMap")
    assert created["metadata"]["namespace"] == "default"
    assert plane.put(f"{CONFIGMAPS}/settings", bare) == (200, created)
    shown = plane.post(f"{CONFIGMAPS}?dryRun=All", {"kind": "", "metadata": {"name": "other"}})[1]
    assert (shown["apiVersion"], shown["kind"]) == ("v1", "ConfigMap")


@pytest.mark.parametrize(
    ("field", "value"), [("apiVersion", "v2"), ("apiVersion", "apps/v1"), ("kind", "Secret"), ("kind", 5)]
)
def test_a_body_of_another_kind_is_refused(field: str, value: Any) -> None:
    status, body = InProcess().post(CONFIGMAPS, {**configmap(), field: value})
    assert status == 400
    assert field in body["message"]


def test_objects_outside_namespaces_take_none_on() -> None:
    plane = InProcess()
    obj = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop", "namespace": "odd"}}
    created = made(plane, NAMESPACES, obj)
    assert "namespace" not in created["metadata"]
    status, after = plane.patch(f"{NAMESPACES}/shop", {"metadata": {"namespace": "odd"}})
    assert (status, after) == (200, created)

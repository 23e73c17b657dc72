"""PUT and PATCH: who wins when two write, what a name, a uid and a revision in the body mean, what is immutable."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.errors import CURRENT_VERSION
from fairlead.store.contract import CommitOutcome, Transaction
from tests.inprocess import InProcess
from tests.unit.api.things import (
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    causes,
    configmap,
    deployment,
    made,
    pod,
)

ONE = f"{CONFIGMAPS}/settings"
OTHER_UID = "11111111-2222-4333-8444-555555555555"


def _meanwhile(plane: InProcess, *writes: Any) -> None:
    """Before each of the next commits, somebody else gets one of these merge patches in."""
    commit, pending = plane.commit, list(writes)

    def with_others(transaction: Transaction) -> CommitOutcome:
        if pending:
            plane.commit = commit  # type: ignore[method-assign]
            assert plane.patch(ONE, pending.pop(0))[0] == 200
            plane.commit = with_others  # type: ignore[method-assign]
        return commit(transaction)

    plane.commit = with_others  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("media", "change"),
    [
        ("merge-patch", {"data": {"mine": "1"}}),
        ("strategic-merge-patch", {"data": {"mine": "1"}}),
        ("json-patch", [{"op": "add", "path": "/data/mine", "value": "1"}]),
    ],
)
def test_a_patch_is_applied_again_to_what_others_wrote_meanwhile(media: str, change: Any) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    _meanwhile(plane, {"data": {"theirs": "1"}}, {"data": {"theirs": "2"}})
    status, body = plane.patch(ONE, change, media)
    assert (status, body["data"]) == (200, {"a": "1", "theirs": "2", "mine": "1"})


@pytest.mark.parametrize("media", ["merge-patch", "strategic-merge-patch"])
@pytest.mark.parametrize("racing", [True, False])
def test_a_patch_that_names_the_revision_it_read_is_not_applied_to_another(media: str, racing: bool) -> None:
    plane = InProcess()
    created = made(plane, CONFIGMAPS, configmap())
    if racing:
        _meanwhile(plane, {"data": {"theirs": "1"}})
    else:
        plane.patch(ONE, {"data": {"theirs": "1"}})
    revision = created["metadata"]["resourceVersion"]
    change = {"metadata": {"resourceVersion": revision}, "data": {"mine": "1"}}
    status, body = plane.patch(ONE, change, media)
    assert (status, body["reason"]) == (409, "Conflict")
    assert "mine" not in plane.get(ONE)[1]["data"]


def test_a_json_patch_that_tests_the_revision_fails_on_another() -> None:
    plane = InProcess()
    created = made(plane, CONFIGMAPS, configmap())
    revision = created["metadata"]["resourceVersion"]
    change = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": revision},
        {"op": "add", "path": "/data/mine", "value": "1"},
    ]
    assert plane.patch(ONE, change, "json-patch")[0] == 200
    assert plane.patch(ONE, change, "json-patch")[0] == 422


@pytest.mark.parametrize("racing", [True, False])
def test_a_put_with_a_stale_revision_is_a_conflict(racing: bool) -> None:
    plane = InProcess()
    created = made(plane, CONFIGMAPS, configmap())
    if racing:
        _meanwhile(plane, {"data": {"theirs": "1"}})
    else:
        plane.patch(ONE, {"data": {"theirs": "1"}})
    status, body = plane.put(ONE, {**created, "data": {"mine": "1"}})
    assert status == 409
    assert body["message"] == (
        'Operation cannot be fulfilled on configmaps "settings": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    current = {"reason": "CurrentVersion", "message": plane.get(ONE)[1]["metadata"]["resourceVersion"]}
    current["field"] = "metadata.resourceVersion"
    assert body["details"] == {"name": "settings", "kind": "configmaps", "causes": [current]}


@pytest.mark.parametrize("revision", [None, "", "0"])
def test_a_put_without_a_revision_replaces_whatever_is_there(revision: str | None) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    _meanwhile(plane, {"data": {"theirs": "1"}})
    status, body = plane.put(ONE, configmap(resourceVersion=revision))
    assert (status, body["data"]) == (200, {"a": "1"})


def test_a_put_that_loses_the_race_against_a_deletion_finds_nothing() -> None:
    plane = InProcess()
    created = made(plane, CONFIGMAPS, configmap())
    commit = plane.commit

    def after_deletion(transaction: Transaction) -> CommitOutcome:
        plane.commit = commit  # type: ignore[method-assign]
        plane.delete(ONE)
        return commit(transaction)

    plane.commit = after_deletion  # type: ignore[method-assign]
    assert plane.put(ONE, {**created, "data": {}})[0] == 404


@pytest.mark.parametrize(
    ("metadata", "status", "words"),
    [
        ({"name": "other"}, 400, "the name of the object"),
        ({"namespace": "kube-system"}, 400, "the namespace of the object"),
        ({"uid": OTHER_UID}, 409, "Precondition failed: UID in precondition"),
    ],
)
@pytest.mark.parametrize("verb", ["put", "patch"])
def test_a_body_that_means_another_object_is_refused(
    verb: str, metadata: dict[str, str], status: int, words: str
) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    before = plane.store.revision
    obj = configmap()
    obj["metadata"].update(metadata)
    answer, body = plane.put(ONE, obj) if verb == "put" else plane.patch(ONE, {"metadata": metadata})
    assert (answer, words in body["message"]) == (status, True)
    assert plane.store.revision == before


@pytest.mark.parametrize("verb", ["put", "patch", "delete"])
def test_who_meant_an_object_that_was_made_anew_is_told_which_version_is_there(verb: str) -> None:
    plane = InProcess()
    created = made(plane, CONFIGMAPS, configmap())
    meant = {"metadata": {**configmap()["metadata"], "uid": OTHER_UID}}
    if verb == "put":
        status, told = plane.put(ONE, {**configmap(), **meant})
    elif verb == "patch":
        status, told = plane.patch(ONE, meant)
    else:
        status, told = plane.delete(ONE, {"preconditions": {"uid": OTHER_UID}})
    assert status == 409
    [cause] = told["details"]["causes"]
    assert (cause["reason"], cause["message"]) == (CURRENT_VERSION, created["metadata"]["resourceVersion"])


@pytest.mark.parametrize("verb", ["get", "put", "patch", "delete"])
def test_what_is_not_there_is_not_found(verb: str) -> None:
    plane = InProcess()
    calls: Any = {
        "get": lambda: plane.get(ONE),
        "put": lambda: plane.put(ONE, configmap()),
        "patch": lambda: plane.patch(ONE, {}),
        "delete": lambda: plane.delete(ONE),
    }
    status, body = calls[verb]()
    assert (status, body["message"]) == (404, 'configmaps "settings" not found')
    assert body["details"] == {"name": "settings", "kind": "configmaps"}


@pytest.mark.parametrize(
    ("address", "obj", "change", "field"),
    [
        (
            DEPLOYMENTS,
            deployment(),
            {"spec": {"selector": {"matchLabels": {"other": "label"}}}},
            "spec.selector",
        ),
        (PODS, pod(), {"spec": {"nodeName": "node-1"}}, "spec"),
        (PODS, pod(), {"spec": {"priority": 5}}, "spec"),
    ],
)
def test_immutable_fields_stay(address: str, obj: Any, change: Any, field: str) -> None:
    plane = InProcess()
    made(plane, address, obj)
    status, body = plane.patch(f"{address}/web", change)
    assert status == 422
    assert field in {path for _, path in causes(body)}


@pytest.mark.parametrize(
    ("operations", "status"),
    [
        ([{"op": "test", "path": "/data/a", "value": "2"}], 422),
        ([{"op": "test", "path": "/data/a", "value": "1"}], 200),
        ([{"op": "remove", "path": "/data/none"}], 422),
        ([{"op": "jump", "path": "/data/a"}], 400),
        ({"op": "remove"}, 400),
        ([{"op": "replace", "path": "/kind", "value": "Secret"}], 400),
        ([{"op": "replace", "path": "", "value": []}], 422),
        ([{"op": "remove", "path": "/metadata"}], 200),
    ],
)
def test_json_patches_answer_as_their_operations_fare(operations: Any, status: int) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    assert plane.patch(ONE, operations, "json-patch")[0] == status
    assert plane.get(ONE)[1]["metadata"]["name"] == "settings"


def test_a_strategic_merge_patch_finds_list_items_by_their_key() -> None:
    plane = InProcess()
    obj = deployment()
    obj["spec"]["template"]["spec"] = {
        "containers": [{"name": "web", "image": "web:1"}, {"name": "proxy", "image": "proxy:1"}]
    }
    made(plane, DEPLOYMENTS, obj)
    containers = [{"name": "proxy", "image": "proxy:2"}, {"name": "web", "$patch": "delete"}]
    change = {"spec": {"template": {"spec": {"containers": containers}}}}
    _, after = plane.patch(f"{DEPLOYMENTS}/web", change, "strategic-merge-patch")
    kept = after["spec"]["template"]["spec"]["containers"]
    assert [(each["name"], each["image"]) for each in kept] == [("proxy", "proxy:2")]
    _, after = plane.patch(
        f"{DEPLOYMENTS}/web",
        {"spec": {"template": {"spec": {"containers": [{"name": "only", "image": "only:1"}]}}}},
    )
    assert [each["name"] for each in after["spec"]["template"]["spec"]["containers"]] == ["only"]


@pytest.mark.parametrize(
    "media", ["application/apply-patch+cbor", "application/json", "text/plain", "", "application/yaml"]
)
def test_a_patch_in_a_form_that_is_not_known_is_refused(media: str) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    status, body = plane.request("PATCH", ONE, b"kind: ConfigMap\n", content_type=media)
    assert (status, body["reason"]) == (415, "UnsupportedMediaType")
    assert "application/strategic-merge-patch+json" in body["message"]


def test_an_update_may_leave_out_what_admission_filled_in() -> None:
    plane = InProcess()
    created = made(plane, PODS, pod())
    spec = {
        key: value for key, value in created["spec"].items() if key not in ("priority", "preemptionPolicy")
    }
    assert plane.put(f"{PODS}/web", {**created, "spec": spec}) == (200, created)


def test_what_holds_a_namespace_can_be_changed_at_its_own_address_only() -> None:
    plane = InProcess()
    obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    created = made(plane, NAMESPACES, {**obj, "spec": {"finalizers": ["example.com/mine"]}})
    assert created["spec"]["finalizers"] == ["example.com/mine", "kubernetes"]
    assert plane.put(f"{NAMESPACES}/shop", obj) == (200, created)
    assert plane.patch(f"{NAMESPACES}/shop", {"spec": {"finalizers": []}}) == (200, created)
    finalized = {**created, "spec": {"finalizers": ["kubernetes"]}}
    status, after = plane.put(f"{NAMESPACES}/shop/finalize", finalized)
    assert (status, after["spec"]["finalizers"]) == (200, ["kubernetes"])
    status, body = plane.put(f"{NAMESPACES}/shop/finalize", finalized)
    assert (status, body["reason"]) == (409, "Conflict"), "the revision it names is stale by now"


@pytest.mark.parametrize(
    ("metadata", "finalizers", "status"),
    [
        ({"name": "other"}, [], 400),
        ({"uid": OTHER_UID}, [], 409),
        ({}, ["no domain and no standard name"], 422),
        ({}, [], 200),
    ],
)
def test_finalize_is_judged_like_any_other_write(
    metadata: dict[str, str], finalizers: list[str], status: int
) -> None:
    plane = InProcess()
    made(plane, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    body = {"metadata": metadata, "spec": {"finalizers": finalizers}}
    assert plane.put(f"{NAMESPACES}/shop/finalize", body)[0] == status
    assert plane.get(f"{NAMESPACES}/shop")[0] == 200, "it was not deleted, so nothing is over"

"""DELETE: grace, finalizers, preconditions, the three policies, collections, and what is answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.store.contract import DELETED
from tests.inprocess import InProcess
from tests.unit.api.things import CONFIGMAPS, DEPLOYMENTS, NAMESPACES, PODS, configmap, deployment, made, pod

HOLD = "example.com/hold"
ONE = f"{CONFIGMAPS}/settings"


def _bound(plane: InProcess, **metadata: Any) -> None:
    made(plane, PODS, pod(node="node-1", **metadata))


@pytest.mark.parametrize(
    ("asked", "granted"), [({}, 30), ({"gracePeriodSeconds": 5}, 5), ({"gracePeriodSeconds": 90}, 90)]
)
def test_a_bound_pod_is_given_time(asked: Any, granted: int) -> None:
    plane = InProcess()
    _bound(plane)
    status, body = plane.delete(f"{PODS}/web", asked)
    assert (status, body["kind"]) == (200, "Pod")
    assert body["metadata"]["deletionTimestamp"] == timestamp(plane.now + granted)
    assert body["metadata"]["deletionGracePeriodSeconds"] == granted
    assert plane.get(f"{PODS}/web")[0] == 200
    status, gone = plane.delete(f"{PODS}/web?gracePeriodSeconds=0")
    assert (status, gone["kind"], gone["metadata"]["uid"]) == (200, "Pod", body["metadata"]["uid"])
    assert plane.get(f"{PODS}/web")[0] == 404


@pytest.mark.parametrize(
    ("asked", "seconds"), [({}, 30), ({"gracePeriodSeconds": 40}, 30), ({"gracePeriodSeconds": 20}, 20)]
)
def test_asking_again_can_only_shorten_the_grace(asked: Any, seconds: int) -> None:
    plane = InProcess()
    _bound(plane)
    plane.delete(f"{PODS}/web")
    begun = plane.now
    plane.now += 15
    _, body = plane.delete(f"{PODS}/web", asked)
    assert body["metadata"]["deletionTimestamp"] == timestamp(begun + seconds)
    assert body["metadata"]["deletionGracePeriodSeconds"] == seconds


@pytest.mark.parametrize("grace", [2**40, 2**63 - 1])
def test_an_absurd_grace_is_bounded(grace: int) -> None:
    plane = InProcess()
    _bound(plane)
    status, body = plane.delete(f"{PODS}/web", {"gracePeriodSeconds": grace})
    assert (status, body["metadata"]["deletionGracePeriodSeconds"]) == (200, 2**31 - 1)
    assert plane.delete(f"{PODS}/web?gracePeriodSeconds=0")[0] == 200


def test_a_pod_that_no_node_knows_goes_at_once() -> None:
    plane = InProcess()
    created = made(plane, PODS, pod())
    status, body = plane.delete(f"{PODS}/web")
    assert (status, body["metadata"]["uid"]) == (200, created["metadata"]["uid"])
    assert plane.get(f"{PODS}/web")[0] == 404
    assert plane.published[-1].type == DELETED


def test_a_completed_deletion_answers_with_a_status_where_kubernetes_does() -> None:
    plane = InProcess()
    created = made(plane, DEPLOYMENTS, deployment())
    assert plane.delete(f"{DEPLOYMENTS}/web") == (
        200,
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {
                "name": "web",
                "kind": "deployments",
                "uid": created["metadata"]["uid"],
                "group": "apps",
            },
        },
    )


def test_a_finalizer_holds_an_object_until_it_is_taken_off() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap(finalizers=[HOLD, "example.com/other"]))
    status, body = plane.delete(ONE)
    assert (status, body["kind"]) == (200, "ConfigMap")
    assert body["metadata"]["deletionTimestamp"] == timestamp(plane.now)
    assert body["metadata"]["deletionGracePeriodSeconds"] == 0
    status, body = plane.patch(ONE, {"metadata": {"finalizers": [HOLD]}})
    assert (status, plane.get(ONE)[0]) == (200, 200)
    status, body = plane.patch(ONE, {"metadata": {"finalizers": None}})
    assert (status, body["kind"]) == (200, "ConfigMap")
    assert plane.get(ONE)[0] == 404
    assert plane.published[-1].type == DELETED


def test_a_pod_whose_finalizer_is_gone_still_has_its_grace() -> None:
    plane = InProcess()
    _bound(plane, finalizers=[HOLD])
    plane.delete(f"{PODS}/web")
    plane.patch(f"{PODS}/web", {"metadata": {"finalizers": None}})
    assert plane.get(f"{PODS}/web")[0] == 200
    plane.delete(f"{PODS}/web", {"gracePeriodSeconds": 0})
    assert plane.get(f"{PODS}/web")[0] == 404


def test_a_pod_whose_grace_is_over_still_has_its_finalizer() -> None:
    plane = InProcess()
    _bound(plane, finalizers=[HOLD])
    plane.delete(f"{PODS}/web")
    _, body = plane.delete(f"{PODS}/web", {"gracePeriodSeconds": 0})
    assert body["metadata"]["deletionGracePeriodSeconds"] == 0
    assert plane.get(f"{PODS}/web")[0] == 200
    plane.patch(f"{PODS}/web", {"metadata": {"finalizers": None}})
    assert plane.get(f"{PODS}/web")[0] == 404


def test_no_finalizer_can_be_added_to_what_is_being_deleted() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap(finalizers=[HOLD]))
    plane.delete(ONE)
    status, body = plane.patch(ONE, {"metadata": {"finalizers": [HOLD, "example.com/late"]}})
    assert status == 422
    assert body["details"]["causes"][0]["field"] == "metadata.finalizers"
    assert "no new finalizers can be added" in body["message"]


@pytest.mark.parametrize("in_query", [True, False])
@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({}, [HOLD]),
        ({"propagationPolicy": "Background"}, [HOLD]),
        ({"propagationPolicy": "Foreground"}, [HOLD, "foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, [HOLD, "orphan"]),
        ({"orphanDependents": True}, [HOLD, "orphan"]),
        ({"orphanDependents": False}, [HOLD]),
    ],
)
def test_each_policy_leaves_its_finalizer(options: Any, finalizers: list[str], in_query: bool) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap(finalizers=[HOLD]))
    query = "&".join(
        f"{name}={str(value).lower() if value in (True, False) else value}" for name, value in options.items()
    )
    status, body = plane.delete(f"{ONE}?{query}") if in_query else plane.delete(ONE, options)
    assert (status, body["metadata"]["finalizers"]) == (200, finalizers)


@pytest.mark.parametrize(
    ("before", "policy", "after"),
    [
        ("Foreground", "Orphan", ["orphan"]),
        ("Orphan", "Foreground", ["foregroundDeletion"]),
        ("Orphan", "", ["orphan"]),
    ],
)
def test_a_later_deletion_may_change_the_policy(before: str, policy: str, after: list[str]) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    plane.delete(ONE, {"propagationPolicy": before})
    _, body = plane.delete(ONE, {"propagationPolicy": policy})
    assert body["metadata"]["finalizers"] == after


def test_background_after_foreground_goes_at_once() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    plane.delete(ONE, {"propagationPolicy": "Foreground"})
    assert plane.delete(ONE, {"propagationPolicy": "Background"})[1]["status"] == "Success"
    assert plane.get(ONE)[0] == 404


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"propagationPolicy": "Sideways"}, "propagationPolicy: Unsupported value"),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, "orphanDependents"),
        ({"gracePeriodSeconds": -1}, "gracePeriodSeconds"),
        ({"gracePeriodSeconds": "soon"}, "gracePeriodSeconds"),
        ({"dryRun": ["all"]}, "dryRun"),
        ({"dryRun": ["All", "Some"]}, "dryRun"),
        ({"preconditions": []}, "preconditions"),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, "expected kind (DeleteOptions)"),
    ],
)
def test_options_that_make_no_sense_delete_nothing(options: Any, words: str) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    status, body = plane.delete(ONE, options)
    assert status in (400, 422)
    assert words in body["message"]
    assert plane.get(ONE)[0] == 200


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ({"uid": "UID"}, 200),
        ({"resourceVersion": "REVISION"}, 200),
        ({"uid": "11111111-2222-4333-8444-555555555555"}, 409),
        ({"resourceVersion": "1"}, 409),
        ({"uid": "UID", "resourceVersion": "1"}, 409),
    ],
)
def test_preconditions_say_which_object_is_meant(conditions: dict[str, str], status: int) -> None:
    plane = InProcess()
    metadata = made(plane, CONFIGMAPS, configmap())["metadata"]
    real = {"UID": metadata["uid"], "REVISION": metadata["resourceVersion"]}
    given = {name: real.get(value, value) for name, value in conditions.items()}
    answer, body = plane.delete(ONE, {"preconditions": given})
    assert answer == status
    if status == 409:
        assert body["reason"] == "Conflict"
        assert "Precondition failed: " in body["message"]
        assert plane.get(ONE)[0] == 200


def test_a_collection_is_deleted_by_selector() -> None:
    plane = InProcess()
    for number in range(150):
        made(plane, CONFIGMAPS, configmap(f"c{number}", labels={"odd": str(number % 2)}))
    made(plane, CONFIGMAPS, configmap("held", labels={"odd": "1"}, finalizers=[HOLD]))
    status, body = plane.delete(f"{CONFIGMAPS}?labelSelector=odd%3D1")
    assert (status, body["kind"], len(body["items"])) == (200, "ConfigMapList", 76)
    _, left = plane.get(CONFIGMAPS)
    assert len(left["items"]) == 76
    held = [item for item in left["items"] if item["metadata"]["labels"]["odd"] == "1"]
    assert [item["metadata"]["name"] for item in held] == ["held"]
    assert "deletionTimestamp" in held[0]["metadata"]
    status, _ = plane.delete(f"{CONFIGMAPS}?fieldSelector=metadata.name%3Dc0")
    assert len(plane.get(CONFIGMAPS)[1]["items"]) == 75
    assert plane.delete(f"{CONFIGMAPS}?fieldSelector=data.a%3D1")[0] == 400


def test_a_collection_goes_on_when_others_write_meanwhile() -> None:
    plane = InProcess()
    for number in range(3):
        made(plane, CONFIGMAPS, configmap(f"c{number}"))
    commit = plane.commit

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        plane.patch(f"{CONFIGMAPS}/c1", {"data": {"b": "2"}})
        plane.delete(f"{CONFIGMAPS}/c2")
        made(plane, CONFIGMAPS, configmap("c2"))
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert plane.delete(CONFIGMAPS)[0] == 200
    left = [item["metadata"]["name"] for item in plane.get(CONFIGMAPS)[1]["items"]]
    assert left == ["c2"], "the namesake that came later was not asked for"


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_the_namespaces_of_the_plane_cannot_be_deleted(name: str) -> None:
    status, body = InProcess().delete(f"{NAMESPACES}/{name}")
    assert (status, body["reason"]) == (403, "Forbidden")
    assert body["message"] == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_namespaces_are_deleted_one_by_one() -> None:
    plane = InProcess()
    made(plane, NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    status, body = plane.delete(NAMESPACES)
    assert (status, body["reason"]) == (405, "MethodNotAllowed")
    assert plane.delete(f"{NAMESPACES}/")[0] == 405, "an empty name is not all names"
    assert plane.get(f"{NAMESPACES}/shop")[1]["status"]["phase"] == "Active"


def test_the_last_state_is_what_watchers_are_told() -> None:
    plane = InProcess()
    created = made(plane, CONFIGMAPS, configmap())
    plane.delete(ONE)
    last = json.loads(plane.published[-1].entry.data)
    assert last["data"] == created["data"]
    assert (
        int(last["metadata"]["resourceVersion"])
        == plane.store.revision
        > int(created["metadata"]["resourceVersion"])
    )


@pytest.mark.parametrize("spec", [{"finalizers": ["a/b"]}, ["a"], "text"])
def test_a_field_that_the_kind_does_not_have_cannot_hold_up_its_deletion(spec: Any) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, {**configmap(), "spec": spec})
    assert plane.delete(ONE)[0] == 200
    assert plane.get(ONE)[0] == 404

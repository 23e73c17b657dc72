"""Quota of released pods: who may say that one was released, who gets its quota, and what holds meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, NODES, User
from tests.inprocess import ADMIN, InProcess
from tests.unit.api.test_quotas import PLACEMENT, QUOTAS, asking, bind, placement, quota, used
from tests.unit.api.things import PODS, made

Json = dict[str, Any]
PLANE = User("system:fairlead:release", groups=(MASTERS,))
NODE = User("system:node:n1", groups=(NODES, "system:authenticated"))
RELEASED = "fairlead.dev/Released"
GIVEN = "fairlead.dev/QuotaGiven"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def owned(name: str, uid: str = "uid-of-web", replaces: str = "", node: str = "", **metadata: Any) -> Json:
    found = asking(name, "100m", node)
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": True}
    found["metadata"] |= {"ownerReferences": [reference], **metadata}
    if replaces:
        found["metadata"]["annotations"] = {"fairlead.dev/replaces": replaces}
    return found


def conditions(plane: InProcess, name: str) -> dict[str, Json]:
    found = plane.get(f"{PODS}/{name}")[1]["status"].get("conditions") or ()
    return {each["type"]: each for each in found}


def told(
    plane: InProcess, name: str, status: str, user: User = PLANE, kind: str = RELEASED
) -> tuple[int, Any]:
    condition = {
        "type": kind,
        "status": status,
        "reason": "NodeSilent",
        "message": "",
        "lastTransitionTime": None,
    }
    body = {"status": {"conditions": [condition]}}
    return plane.request("PATCH", f"{PODS}/{name}/status", body, STRATEGIC, user=user)


def released(plane: InProcess, name: str) -> str:
    """Bound to n1, and released by the plane. Its uid."""
    if not plane.get(f"{PODS}/{name}")[1]["spec"].get("nodeName"):
        assert bind(plane, name, "n1")[0] == 201
    assert told(plane, name, "True")[0] == 200
    uid: str = plane.get(f"{PODS}/{name}")[1]["metadata"]["uid"]
    return uid


# Who may say so


@pytest.mark.parametrize("user", [NODE, ADMIN], ids=["the node", "an admin"])
@pytest.mark.parametrize("kind", [RELEASED, GIVEN])
@pytest.mark.parametrize("content_type", [MERGE, STRATEGIC])
def test_nobody_but_the_plane_says_that_a_pod_was_released(user: User, kind: str, content_type: str) -> None:
    plane = InProcess()
    made(plane, PODS, owned("a", node="n1"))
    body = {"status": {"conditions": [{"type": kind, "status": "True"}]}}
    status, answer = plane.request("PATCH", f"{PODS}/a/status", body, content_type, user=user)
    assert (status, answer.get("reason")) == (403, "Forbidden")
    assert f"{kind} is written by the plane alone" in answer["message"]
    assert (
        "kubectl taint node NODE node.kubernetes.io/out-of-service=confirmed:NoExecute" in answer["message"]
    )
    assert kind not in conditions(plane, "a")


@pytest.mark.parametrize("user", [NODE, ADMIN], ids=["the node", "an admin"])
def test_nor_by_an_update_an_apply_or_a_json_patch(user: User) -> None:
    plane = InProcess()
    made(plane, PODS, owned("a", node="n1"))
    condition = {"type": RELEASED, "status": "True"}
    found = plane.get(f"{PODS}/a")[1]
    found["status"]["conditions"] = [condition]
    assert plane.request("PUT", f"{PODS}/a/status", found, user=user)[0] == 403
    operation = [{"op": "add", "path": "/status/conditions", "value": [condition]}]
    kind = "application/json-patch+json"
    assert plane.request("PATCH", f"{PODS}/a/status", operation, kind, user=user)[0] == 403
    applied = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "status": {"conditions": [condition]},
    }
    address = f"{PODS}/a/status?fieldManager=m&force=true"
    assert plane.request("PATCH", address, applied, "application/apply-patch+yaml", user=user)[0] == 403
    assert RELEASED not in conditions(plane, "a")


def test_a_status_sent_with_a_new_pod_or_beside_its_spec_says_nothing() -> None:
    plane = InProcess()
    status = {"conditions": [{"type": RELEASED, "status": "True"}]}
    made(plane, PODS, owned("a") | {"status": status})
    found = plane.get(f"{PODS}/a")[1]
    found["status"] = status
    assert plane.put(f"{PODS}/a", found)[0] == 200
    assert plane.request("PATCH", f"{PODS}/a", {"status": status}, MERGE)[0] == 200
    assert RELEASED not in conditions(plane, "a")


def test_what_the_plane_said_stays_when_a_node_leaves_it_out_and_may_not_be_taken_back() -> None:
    plane = InProcess()
    made(plane, PODS, owned("a", node="n1"))
    released(plane, "a")
    own = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert plane.request("PATCH", f"{PODS}/a/status", own, MERGE, user=NODE)[0] == 200
    found = conditions(plane, "a")
    assert (found["Ready"]["status"], found[RELEASED]["status"]) == ("True", "True")
    assert told(plane, "a", "False", NODE)[0] == 403
    assert told(plane, "a", "False", ADMIN)[0] == 403
    assert conditions(plane, "a")[RELEASED]["status"] == "True"
    assert told(plane, "a", "False")[0] == 200


def test_a_name_like_the_planes_is_not_enough() -> None:
    plane = InProcess()
    made(plane, PODS, owned("a", node="n1"))
    assert told(plane, "a", "True", User("system:fairlead:release"))[0] == 403


# Who gets the quota: ResourceQuota


def full(plane: InProcess, **hard: str) -> str:
    """A quota of two that two pods of one owner use up, one of which is released; the uid of that one."""
    made(plane, QUOTAS, quota(hard=hard or {"pods": "2"}))
    for name in ("a", "b"):
        made(plane, PODS, owned(name))
    return released(plane, "a")


@pytest.mark.parametrize("hard", [{"pods": "2"}, {"count/pods": "2"}, {"requests.cpu": "200m", "pods": "9"}])
def test_a_replacement_gets_the_quota_of_the_pod_it_replaces(hard: dict[str, str]) -> None:
    plane = InProcess()
    uid = full(plane, **hard)
    before = used(plane, f"{QUOTAS}/q")
    made(plane, PODS, owned("c", replaces=uid))
    assert used(plane, f"{QUOTAS}/q") == before
    told = conditions(plane, "a")[GIVEN]
    assert (told["status"], told["reason"]) == ("True", "Created")
    assert "pod c has its quota" in told["message"]
    # and what the server counts is the same
    counted: dict[str, Any] = {"status": {"used": {}}}
    assert plane.request("PATCH", f"{QUOTAS}/q/status", counted, MERGE)[0] == 200
    assert used(plane, f"{QUOTAS}/q") == before
    status, answer = plane.post(PODS, owned("d", replaces=uid))
    assert status == 403, "a pod gives its quota once"
    assert "exceeded quota: q" in answer["message"]


def test_a_pod_that_names_nobody_gets_it_if_its_owner_is_the_same() -> None:
    plane = InProcess()
    full(plane)
    made(plane, PODS, owned("c"))
    assert conditions(plane, "a")[GIVEN]["status"] == "True"
    assert plane.post(PODS, owned("d"))[0] == 403


def test_others_do_not_get_it_and_are_told_who_holds_it() -> None:
    plane = InProcess()
    uid = full(plane)
    # That its uid stands somewhere in the pod makes nobody its owner.
    named = {"metadata": {"annotations": {"example.com/before": "uid-of-other"}}}
    assert plane.patch(f"{PODS}/a", named)[0] == 200
    for other in (asking("c", "100m"), owned("c", "uid-of-other"), owned("c", "uid-of-other", replaces=uid)):
        status, answer = plane.post(PODS, other)
        assert status == 403
        assert answer["message"].endswith(
            "used: pods=2, limited: pods=2; released, but still holding it: a on n1"
        )
    assert GIVEN not in conditions(plane, "a")


def test_a_larger_replacement_needs_room_for_the_difference() -> None:
    plane = InProcess()
    made(plane, QUOTAS, quota(hard={"requests.cpu": "250m"}))
    for name in ("a", "b"):
        made(plane, PODS, owned(name))
    uid = released(plane, "a")
    large = owned("c", replaces=uid)
    large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "160m"
    status, answer = plane.post(PODS, large)
    assert status == 403
    assert "requested: requests.cpu=60m, used: requests.cpu=200m" in answer["message"]
    large["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "150m"
    made(plane, PODS, large)
    assert used(plane, f"{QUOTAS}/q") == {"requests.cpu": "250m"}


def test_a_pod_that_counts_again_holds_its_own_and_above_the_limit_nothing_is_created() -> None:
    plane = InProcess()
    uid = full(plane)
    made(plane, PODS, owned("c", replaces=uid))
    own = {"status": {"conditions": None}}
    assert plane.request("PATCH", f"{PODS}/a/status", own, MERGE, user=PLANE)[0] == 200
    assert plane.request("PATCH", f"{QUOTAS}/q/status", {"status": {"used": {}}}, MERGE)[0] == 200
    assert used(plane, f"{QUOTAS}/q") == {"pods": "3"}
    assert plane.post(PODS, owned("d"))[0] == 403
    assert {each["metadata"]["name"] for each in plane.get(PODS)[1]["items"]} == {"a", "b", "c"}


def test_a_released_pod_that_somebody_deletes_holds_nothing() -> None:
    plane = InProcess()
    full(plane)
    assert plane.request("DELETE", f"{PODS}/a")[0] == 200
    assert plane.get(f"{PODS}/a")[0] == 200, "its node has to end it"
    assert plane.request("PATCH", f"{QUOTAS}/q/status", {"status": {"used": {}}}, MERGE)[0] == 200
    assert used(plane, f"{QUOTAS}/q") == {"pods": "1"}


# PlacementQuota


def test_a_replacement_is_bound_on_the_quota_of_the_pod_it_replaces() -> None:
    plane = InProcess()
    made(plane, PLACEMENT, placement(pods="2"))
    for name in ("a", "b"):
        made(plane, PODS, owned(name))
        assert bind(plane, name, "n1")[0] == 201
    uid = released(plane, "a")
    made(plane, PODS, owned("c", replaces=uid))
    made(plane, PODS, owned("d", "uid-of-other"))
    assert GIVEN not in conditions(plane, "a")
    status, answer = bind(plane, "d", "n2")
    assert status == 403
    assert "released, but still holding it: a on n1" in answer["message"]
    assert bind(plane, "c", "n2")[0] == 201
    assert conditions(plane, "a")[GIVEN]["reason"] == "Bound"
    assert used(plane, f"{PLACEMENT}/q") == {"pods": "2"}
    assert plane.request("PATCH", f"{PLACEMENT}/q/status", {"status": {"used": {}}}, MERGE)[0] == 200
    assert used(plane, f"{PLACEMENT}/q") == {"pods": "2"}
    assert bind(plane, "d", "n2")[0] == 403


def test_both_quotas_are_handed_over_one_after_the_other_or_at_once() -> None:
    plane = InProcess()
    made(plane, QUOTAS, quota(hard={"pods": "2"}))
    made(plane, PLACEMENT, placement(pods="2"))
    for name in ("a", "b"):
        made(plane, PODS, owned(name))
        assert bind(plane, name, "n1")[0] == 201
    made(plane, PODS, owned("c", replaces=released(plane, "a")))
    assert conditions(plane, "a")[GIVEN]["reason"] == "Created"
    assert bind(plane, "c", "n2")[0] == 201
    assert conditions(plane, "a")[GIVEN]["reason"] == "Bound"
    made(plane, PODS, owned("d", replaces=released(plane, "b"), node="n2"))
    assert conditions(plane, "b")[GIVEN]["reason"] == "Bound"
    assert used(plane, f"{PLACEMENT}/q") == used(plane, f"{QUOTAS}/q") == {"pods": "2"}


def test_a_quota_of_other_nodes_is_charged_in_full() -> None:
    plane = InProcess()
    for name, zone in (("n1", "a"), ("n2", "b")):
        labels = {"metadata": {"name": name, "labels": {"zone": zone}}}
        made(plane, "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **labels})
    made(plane, PLACEMENT, placement("here", "a", pods="1"))
    made(plane, PLACEMENT, placement("there", "b", pods="1"))
    made(plane, PODS, owned("a"))
    assert bind(plane, "a", "n1")[0] == 201
    made(plane, PODS, owned("c", replaces=released(plane, "a")))
    assert bind(plane, "c", "n2")[0] == 201
    assert used(plane, f"{PLACEMENT}/there") == {"pods": "1"}
    assert plane.request("PATCH", f"{PLACEMENT}/here/status", {"status": {"used": {}}}, MERGE)[0] == 200
    assert used(plane, f"{PLACEMENT}/here") == {"pods": "0"}

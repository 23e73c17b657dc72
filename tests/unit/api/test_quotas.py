"""Quotas where they are committed: creating and binding charge them, nothing passes them, and the server counts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inprocess import InProcess
from tests.unit.api.things import PODS, configmap, made, pod

Json = dict[str, Any]
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
PLACEMENT = "/apis/fairlead.dev/v1/namespaces/default/placementquotas"


def quota(name: str = "q", **spec: Any) -> Json:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec}


def placement(name: str = "q", zone: str = "", **hard: str) -> Json:
    spec: Json = {"hard": hard}
    if zone:
        spec["nodeSelector"] = {"matchLabels": {"zone": zone}}
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "PlacementQuota",
        "metadata": {"name": name},
        "spec": spec,
    }


def asking(name: str, cpu: str = "", node: str = "", limit: str = "", **spec: Any) -> Json:
    obj = pod(name, node)
    resources: Json = {}
    if cpu:
        resources["requests"] = {"cpu": cpu}
    if limit:
        resources["limits"] = {"cpu": limit}
    obj["spec"]["containers"][0]["resources"] = resources
    obj["spec"].update(spec)
    return obj


def bind(plane: InProcess, name: str, node: str, **annotations: str) -> tuple[int, Any]:
    binding = {"metadata": {"name": name, "annotations": annotations}, "target": {"name": node}}
    return plane.post(f"{PODS}/{name}/binding", binding)


def node(plane: InProcess, name: str, zone: str) -> None:
    made(plane, "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"zone": zone}}})  # fmt: skip


def used(plane: InProcess, address: str) -> Json:
    found: Json = plane.get(address)[1]["status"]["used"]
    return found


# ResourceQuota


def test_what_is_created_is_charged_and_what_exceeds_is_refused_with_the_numbers() -> None:
    plane = InProcess()
    made(plane, QUOTAS, quota(hard={"pods": "2", "requests.cpu": "1"}))
    made(plane, PODS, asking("a", "300m"))
    made(plane, PODS, asking("b", "300m"))
    assert plane.get(f"{QUOTAS}/q")[1]["status"] == {
        "hard": {"pods": "2", "requests.cpu": "1"},
        "used": {"pods": "2", "requests.cpu": "600m"},
    }
    status, body = plane.post(PODS, asking("c", "1m"))
    assert (status, body["reason"]) == (403, "Forbidden")
    assert body["message"] == (
        'pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
    )
    assert used(plane, f"{QUOTAS}/q") == {"pods": "2", "requests.cpu": "600m"}


def test_a_pod_must_say_what_a_quota_limits() -> None:
    plane = InProcess()
    made(plane, QUOTAS, quota(hard={"requests.cpu": "1", "limits.cpu": "2"}))
    status, body = plane.post(PODS, asking("a", "300m"))
    assert status == 403
    assert body["message"].endswith("failed quota: q: must specify limits.cpu for: web")


def test_what_exists_when_a_quota_is_made_counts_from_the_first_charge() -> None:
    plane = InProcess()
    made(plane, PODS, pod("a"))
    made(plane, QUOTAS, quota(hard={"pods": "2"}))
    assert plane.post(PODS, pod("b"))[0] == 201
    assert plane.post(PODS, pod("c"))[0] == 403
    plane.patch(f"{QUOTAS}/q", {"spec": {"hard": {"pods": "3", "count/configmaps": "1"}}})
    assert plane.post(PODS, pod("c"))[0] == 201
    assert used(plane, f"{QUOTAS}/q") == {"count/configmaps": "0", "pods": "3"}


def test_objects_are_counted_under_their_resource() -> None:
    plane = InProcess()
    made(plane, QUOTAS, quota(hard={"count/configmaps": "1", "count/deployments.apps": "0"}))
    configmaps = "/api/v1/namespaces/default/configmaps"
    made(plane, configmaps, configmap("one"))
    status, body = plane.post(configmaps, configmap("two"))
    assert (status, "requested: count/configmaps=1, used: count/configmaps=1" in body["message"]) == (
        403,
        True,
    )
    assert plane.post(PODS, pod())[0] == 201, "what a quota does not name is free"


@pytest.mark.parametrize(
    ("scope", "refused"),
    [
        ({"scopes": ["BestEffort"]}, ["plain", "ends"]),
        ({"scopes": ["NotBestEffort"]}, ["asks"]),
        ({"scopes": ["Terminating"]}, ["ends"]),
        ({"scopes": ["NotTerminating"]}, ["plain", "asks"]),
        (
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": "In", "values": ["system-node-critical"]}
                    ]
                }
            },
            [],
        ),
    ],
)
def test_a_scope_narrows_a_quota_to_some_pods(scope: Json, refused: list[str]) -> None:
    plane = InProcess()
    made(plane, QUOTAS, quota(hard={"pods": "0"}, **scope))
    pods = [pod("plain"), asking("asks", "1"), asking("ends", activeDeadlineSeconds=5)]
    found = [each["metadata"]["name"] for each in pods if plane.post(PODS, each)[0] == 403]
    assert found == refused


def test_use_is_counted_by_the_server_whatever_a_client_writes() -> None:
    plane = InProcess()
    made(plane, QUOTAS, quota(hard={"pods": "2"}))
    made(plane, PODS, pod("a"))
    made(plane, PODS, pod("b"))
    plane.delete(f"{PODS}/a")
    plane.patch(f"{PODS}/b/status", {"status": {"phase": "Succeeded"}})
    assert used(plane, f"{QUOTAS}/q") == {"pods": "2"}, "charges go down when they are counted again"
    assert plane.patch(f"{QUOTAS}/q/status", {"status": {"used": {"pods": "77"}}})[0] == 200
    assert used(plane, f"{QUOTAS}/q") == {"pods": "0"}


def test_a_dry_run_is_judged_and_charges_nothing() -> None:
    plane = InProcess()
    made(plane, QUOTAS, quota(hard={"pods": "1"}))
    assert plane.post(f"{PODS}?dryRun=All", pod("a"))[0] == 201
    made(plane, PODS, pod("a"))
    assert plane.post(f"{PODS}?dryRun=All", pod("b"))[0] == 403


# PlacementQuota


def test_binding_charges_the_quotas_that_are_about_the_node() -> None:
    plane = InProcess()
    node(plane, "c-1", "c")
    node(plane, "d-1", "d")
    made(plane, PLACEMENT, placement("zone-c", "c", cpu="1", pods="5"))
    made(plane, PLACEMENT, placement("zone-d", "d", cpu="1"))
    made(plane, PLACEMENT, placement("all", memory="1Gi", pods="5"))
    for name in "ab":
        made(plane, PODS, asking(name, "600m"))
    assert bind(plane, "a", "c-1")[0] == 201
    status, body = bind(plane, "b", "c-1")
    assert (status, body["reason"]) == (403, "Forbidden")
    assert body["message"] == (
        'pods "b" is forbidden: exceeded quota: zone-c, requested: cpu=600m, used: cpu=600m, limited: cpu=1'
    )
    assert "nodeName" not in plane.get(f"{PODS}/b")[1]["spec"]
    assert bind(plane, "b", "d-1")[0] == 201
    assert used(plane, f"{PLACEMENT}/zone-c") == {"cpu": "600m", "pods": "1"}
    assert used(plane, f"{PLACEMENT}/all") == {"memory": "0", "pods": "2"}


def test_a_pod_created_with_its_node_is_charged_too() -> None:
    plane = InProcess()
    made(plane, PLACEMENT, placement(pods="1"))
    assert plane.post(PODS, pod("a", "node-1"))[0] == 201
    assert plane.post(PODS, pod("b", "node-1"))[0] == 403
    assert plane.post(PODS, pod("c"))[0] == 201
    assert bind(plane, "c", "node-1")[0] == 403


def test_what_is_bound_when_a_placement_quota_is_made_counts_from_the_first_charge() -> None:
    plane = InProcess()
    made(plane, PODS, pod("a", "node-1"))
    done = made(plane, PODS, pod("done", "node-1"))["metadata"]["name"]
    plane.patch(f"{PODS}/{done}/status", {"status": {"phase": "Failed"}})
    made(plane, PLACEMENT, placement(pods="2"))
    assert plane.post(PODS, pod("b", "node-1"))[0] == 201
    assert plane.post(PODS, pod("c", "node-1"))[0] == 403


def test_a_full_quota_says_so_and_a_lowered_one_that_it_is_exceeded() -> None:
    plane = InProcess()
    made(plane, PLACEMENT, placement(pods="1"))
    made(plane, PODS, pod("a", "node-1"))

    def full() -> Json:
        (condition,) = plane.get(f"{PLACEMENT}/q")[1]["status"]["conditions"]
        return {field: condition[field] for field in ("type", "status", "reason", "message")}

    assert full() == {
        "type": "Full",
        "status": "True",
        "reason": "LimitReached",
        "message": "no room for pods",
    }
    plane.patch(f"{PLACEMENT}/q", {"spec": {"hard": {"pods": "0"}}})
    plane.patch(f"{PLACEMENT}/q/status", {"status": {}})
    assert (full()["status"], full()["reason"]) == ("True", "Exceeded")
    plane.delete(f"{PODS}/a?gracePeriodSeconds=0")
    plane.patch(f"{PLACEMENT}/q", {"spec": {"hard": {"pods": "3"}}})
    plane.patch(f"{PLACEMENT}/q/status", {"status": {}})
    assert (full()["status"], full()["reason"]) == ("False", "RoomLeft")


def test_a_binding_that_was_planned_before_the_quota_existed_is_charged() -> None:
    plane = InProcess()
    made(plane, PODS, pod("a"))
    commit = plane.commit

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        made(plane, PLACEMENT, placement(pods="0"))
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert bind(plane, "a", "node-1")[0] == 403


def test_a_create_that_was_planned_before_the_quota_existed_is_charged() -> None:
    plane = InProcess()
    commit = plane.commit

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        made(plane, QUOTAS, quota(hard={"pods": "0"}))
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert plane.post(PODS, pod("a"))[0] == 403


def test_a_node_that_changes_zone_while_a_pod_is_bound_to_it_is_judged_by_its_new_one() -> None:
    plane = InProcess()
    node(plane, "n", "d")
    made(plane, PLACEMENT, placement("zone-c", "c", pods="0"))
    made(plane, PODS, pod("a"))
    commit = plane.commit

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        plane.patch("/api/v1/nodes/n", {"metadata": {"labels": {"zone": "c"}}})
        return commit(transaction)

    plane.commit = meanwhile  # type: ignore[method-assign]
    assert bind(plane, "a", "n")[0] == 403

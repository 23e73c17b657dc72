"""Quotas, reservations and policies with kubectl: what is refused and in which words, what is seen, what is undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.clients.converging import eventually, items
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import pod, workload

Json = dict[str, Any]
ARGUMENTS = ("--hollow-nodes", "2")
OURS = "fairlead.dev/v1"


def ours(kind: str, name: str, **spec: Any) -> Json:
    return {"apiVersion": OURS, "kind": kind, "metadata": {"name": name} if name else {}, "spec": spec}


@pytest.fixture(autouse=True)
def _settings_gone(kubectl: Operator) -> Iterator[None]:
    yield
    kubectl("delete planesettings,schedulingpolicies --all")


def condition(team: Operator, name: str, kind: str) -> Json:
    found = json.loads(team.asked(f"get {name} -o json")).get("status", {}).get("conditions", ())
    return next((dict(each) for each in found if each["type"] == kind), {})


def test_a_full_resource_quota_says_what_is_used(team: Operator) -> None:
    team("create quota small --hard=pods=2,count/configmaps=10")
    team("create -f -", pod("a"))
    team("create -f -", pod("b"))
    refused = team.run("create -f -", pod("c"))
    assert refused.code != 0
    assert (
        'pods "c" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2'
        in (refused.err)
    )
    (row,) = table(team("get quota"))
    assert "pods: 2/2" in row["REQUEST"]
    team("delete pod a --wait=true")
    eventually(lambda: "pods: 1/2" in table(team("get quota"))[0]["REQUEST"])
    assert team.run("create -f -", pod("c")).code == 0


def test_a_full_placement_quota_keeps_pods_waiting_until_there_is_room(team: Operator) -> None:
    team("create -f -", ours("PlacementQuota", "tenant", hard={"pods": "2"}))
    team("create -f -", workload("Deployment", "web", replicas=3))
    eventually(lambda: condition(team, "placementquota/tenant", "Full").get("status") == "True")

    def waiting() -> list[Json]:
        return [each for each in items(team, "pods") if not each["spec"].get("nodeName")]

    def why() -> str:
        conditions = waiting()[0].get("status", {}).get("conditions", ()) if waiting() else ()
        return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")

    eventually(lambda: "quota/tenant: exceeded pods (requested 1, used 2, limited 2)" in why())
    assert len(waiting()) == 1
    (row,) = table(team("get placementquotas"))
    assert (row["NODES"], row["USED"]) == ("<all>", "pods: 2/2")
    team("""patch placementquota tenant --type=merge -p '{"spec":{"hard":{"pods":"3"}}}'""")
    eventually(lambda: not waiting())
    team("delete deployment web --wait=true")
    eventually(lambda: table(team("get placementquotas"))[0]["USED"] == "pods: 0/3")


def test_a_policy_with_an_unknown_plugin_or_a_negative_weight_is_refused(team: Operator) -> None:
    wrong = ours(
        "SchedulingPolicy", "v4", plugins=[{"name": "NodeAfinity"}, {"name": "NodeAffinity", "weight": -5}]
    )
    refused = team.run("create -f -", wrong)
    assert refused.code != 0
    assert (
        'spec.plugins[0].name: Unsupported value: "NodeAfinity": supported values: "NodeUnschedulable"'
        in (refused.err)
    )
    assert "spec.plugins[1].weight: Invalid value: -5: must be between 0 and 100" in refused.err


def test_a_policy_is_chosen_by_name_and_rolled_back_by_the_former_name(team: Operator) -> None:
    alone = [{"name": "PodTopologySpread", "weight": 0}]  # by default the pods of a set are spread
    packed = {"scoring": {"strategy": "MostAllocated"}, "plugins": alone}
    team("create -f -", ours("SchedulingPolicy", "v3"))
    team("create -f -", ours("SchedulingPolicy", "v4", **packed))
    team("apply -f -", ours("PlaneSettings", "default", schedulingPolicy="v4"))

    def active() -> dict[str, str]:
        return {row["NAME"]: row["ACTIVE"] for row in table(team("get schedulingpolicies"))}

    eventually(lambda: active() == {"v3": "False", "v4": "True"})
    (row,) = (each for each in table(team("get schedulingpolicies -o wide")) if each["NAME"] == "v4")
    assert row["OBSERVED BY"] == "default-scheduler"
    asking = workload("Deployment", "web", replicas=4)
    asking["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    team("create -f -", asking)
    team("rollout status deploy/web --timeout=90s")
    assert len({each["spec"]["nodeName"] for each in items(team, "pods")}) == 1, "packed, by v4"
    team("delete deployment web --wait=true")
    eventually(lambda: not items(team, "pods"))
    team("""patch planesettings default --type=merge -p '{"spec":{"schedulingPolicy":"v3"}}'""")
    eventually(lambda: active() == {"v3": "True", "v4": "False"})
    team("create -f -", asking)
    team("rollout status deploy/web --timeout=90s")
    assert len({each["spec"]["nodeName"] for each in items(team, "pods")}) == 2, "spread, by v3"


def test_a_policy_that_does_not_exist_is_told(team: Operator) -> None:
    team("apply -f -", ours("PlaneSettings", "default", schedulingPolicy="v9"))
    told = "SchedulingPolicy v9 does not exist; until it can be used, the built-in policy stays in use"
    kind = "SchedulingPolicy"
    eventually(lambda: condition(team, "planesettings/default", kind).get("message") == told)
    found = condition(team, "planesettings/default", kind)
    assert (found["status"], found["reason"]) == ("False", "NotFound")


def test_a_reservation_is_made_once_kept_used_and_released_with_its_owner(team: Operator) -> None:
    team("create -f -", workload("Deployment", "risk-api", replicas=0))
    uid = json.loads(team.asked("get deployment risk-api -o json"))["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "risk-api", "uid": uid}
    spec = {
        "owner": owner,
        "intent": "recover",
        "nodeSelector": {},
        "requests": {"cpu": "2"},
        "ttlSeconds": 600,
    }
    name = team("create -f - -o name", ours("Reservation", "", **spec)).strip().partition("/")[2]
    again = team.run("create -f -", ours("Reservation", "", **spec))
    assert again.code != 0
    assert f'reservations.fairlead.dev "{name}" already exists' in again.err
    eventually(lambda: table(team("get reservations"))[0]["PHASE"] == "Active")
    node = table(team("get reservations"))[0]["NODE"]
    using = pod("uses")
    using["metadata"]["annotations"] = {"fairlead.dev/reservation": name}
    team("create -f -", using)
    team("wait pod/uses --for=condition=PodScheduled --timeout=90s")
    assert json.loads(team.asked("get pod uses -o json"))["spec"]["nodeName"] == node
    found = json.loads(team.asked(f"get reservation {name} -o json"))["status"]
    assert (found["phase"], found["allocatedTo"]["name"]) == ("Allocated", "uses")
    team("delete deployment risk-api")
    eventually(lambda: not items(team, "reservations"))

"""Autoscaling with kubectl: what people see of it, with a load that pods on hollow nodes share, and under a quota."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.converging import eventually, items, rolled_out
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import Manifest, workload

ARGUMENTS = ("--hollow-nodes", "2")
SETTINGS = {
    "apiVersion": "fairlead.dev/v1",
    "kind": "PlaneSettings",
    "metadata": {"name": "default"},
    "spec": {"autoscaling": {"syncSeconds": 1}},
}


@pytest.fixture(autouse=True)
def _often(kubectl: Operator) -> Iterator[None]:
    kubectl("apply -f -", SETTINGS)
    yield
    kubectl("delete planesettings default")


def _web(**annotations: str) -> Manifest:
    made = workload("Deployment", "web", replicas=2)
    template = made["spec"]["template"]
    template["metadata"]["annotations"] = annotations
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "500m"}}
    return made


def _wanted(team: Operator) -> int:
    (found,) = items(team, "deployments")
    number: int = found["spec"]["replicas"]
    return number


def test_a_load_brings_replicas_and_describe_tells_why(team: Operator) -> None:
    team("create -f -", _web(**{"hollow.fairlead.dev/load": "cpu=1500m"}))
    rolled_out(team, "deploy/web")
    done = team.run("autoscale deployment web --min=2 --max=9 --cpu-percent=50")
    assert done.code == 0, done.err
    # 1500m are half of six times 500m.
    team("wait --for=jsonpath={.spec.replicas}=6 deployment/web --timeout=120s")
    eventually(lambda: table(team("get hpa"))[0]["TARGETS"] == "cpu: 50%/50%")
    row = table(team("get hpa"))[0]
    assert (row["REFERENCE"], row["MINPODS"], row["MAXPODS"], row["REPLICAS"]) == (
        "Deployment/web",
        "2",
        "9",
        "6",
    )
    told = team("describe hpa web")
    for text in (
        "SuccessfulRescale",
        "above target",
        "ValidMetricFound",
        "DesiredWithinRange",
        "AbleToScale",
    ):
        assert text in told


def test_a_used_up_quota_is_named_and_brings_no_more(team: Operator) -> None:
    team("create quota few --hard=pods=4")
    team("create configmap demand --from-literal=value=90")
    team("label configmap demand metrics.fairlead.dev/external=demand")
    team("create -f -", _web())
    rolled_out(team, "deploy/web")
    metric = {"metric": {"name": "demand"}, "target": {"type": "AverageValue", "averageValue": "10"}}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {
        "scaleTargetRef": reference,
        "maxReplicas": 20,
        "metrics": [{"type": "External", "external": metric}],
    }
    scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    team("create -f -", {**scaler, "spec": spec})

    def limited() -> str:
        (found,) = items(team, "hpa")
        told = found.get("status", {}).get("conditions") or ()
        return next((each["message"] for each in told if each["reason"] == "ReplicasBlocked"), "")

    assert "for WaitingForResourceQuota" in eventually(limited)
    assert "next step: quota-admin" in limited()
    wanted = _wanted(team)
    assert wanted < 9
    team('patch quota few --type=merge -p \'{"spec":{"hard":{"pods":"20"}}}\'')
    team("wait --for=jsonpath={.spec.replicas}=9 deployment/web --timeout=120s")

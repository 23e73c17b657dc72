"""cordon, taint, drain and top on Nodes that a test makes."""

from __future__ import annotations

import json

import pytest

from tests.clients.kubectl import Operator, table
from tests.clients.manifests import node, owned, pod, workload

STATUS = {
    "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
    "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
    "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "ok"}],
    "nodeInfo": {
        "kubeletVersion": "v1.32.0", "osImage": "Linux", "kernelVersion": "6.1", "architecture": "amd64",
        "containerRuntimeVersion": "process://1", "operatingSystem": "linux", "machineID": "", "systemUUID": "",
        "bootID": "", "kubeProxyVersion": "",
    },
}  # fmt: skip


def _make(kubectl: Operator, name: str) -> None:
    kubectl("create -f -", node(name))
    kubectl(f"patch node {name} --subresource=status --type=merge -p '{json.dumps({'status': STATUS})}'")


def _status(kubectl: Operator, name: str) -> str:
    return table(kubectl(f"get node {name}"))[0]["STATUS"]


def test_a_node_that_reports_shows_what_it_is(kubectl: Operator) -> None:
    _make(kubectl, "shown")
    assert table(kubectl("get node shown -o wide")) == [
        {
            "NAME": "shown", "STATUS": "Ready", "ROLES": "worker", "AGE": "AGE", "VERSION": "v1.32.0",
            "INTERNAL-IP": "10.0.0.1", "EXTERNAL-IP": "<none>", "OS-IMAGE": "Linux", "KERNEL-VERSION": "6.1",
            "CONTAINER-RUNTIME": "process://1", "REASON": "<none>",
        }
    ]  # fmt: skip
    heavy = pod("heavy", node="shown")
    heavy["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1", "memory": "2Gi"}}
    kubectl("create -f -", heavy)
    lines = [line.split() for line in kubectl("describe node shown").splitlines()]
    assert ["default", "heavy", "1", "(25%)", "0", "(0%)", "2Gi", "(25%)", "0", "(0%)"] in [
        x[:10] for x in lines
    ]
    assert ["cpu", "1", "(25%)", "0", "(0%)"] in lines


def test_cordon_and_uncordon(kubectl: Operator) -> None:
    _make(kubectl, "corded")
    assert kubectl("cordon corded") == "node/corded cordoned\n"
    assert kubectl("cordon corded") == "node/corded already cordoned\n"
    assert _status(kubectl, "corded") == "Ready,SchedulingDisabled"
    assert kubectl("uncordon corded") == "node/corded uncordoned\n"
    assert _status(kubectl, "corded") == "Ready"


def test_taints(kubectl: Operator) -> None:
    _make(kubectl, "tainted")
    assert kubectl("taint node tainted gpu=yes:NoSchedule") == "node/tainted tainted\n"
    said = kubectl.refused("taint node tainted gpu=no:NoSchedule")
    assert "already has gpu taint(s) with same effect(s) and --overwrite is false" in said
    assert kubectl("taint node tainted gpu=no:NoSchedule --overwrite") == "node/tainted modified\n"
    assert kubectl.yaml("get node tainted")["spec"]["taints"] == [
        {"key": "gpu", "value": "no", "effect": "NoSchedule"}
    ]
    assert kubectl("taint node tainted gpu-") == "node/tainted untainted\n"
    assert kubectl.refused("taint node tainted gpu-") == 'error: taint "gpu" not found\n'
    assert "taints" not in (kubectl.yaml("get node tainted").get("spec") or {})


@pytest.fixture
def busy(kubectl: Operator, team: Operator) -> Operator:
    """Two pods of a ReplicaSet on node `busy`, guarded by a budget, and one pod of nobody."""
    kubectl.run("delete node busy --ignore-not-found")
    _make(kubectl, "busy")
    owner = workload("ReplicaSet", "web")
    team("create -f -", owner)
    uid = team.asked("get rs web -o jsonpath={.metadata.uid}")
    team(
        "create -f -",
        [owned(pod(name, node="busy", labels={"app": "web"}), owner, uid) for name in ("w-1", "w-2")],
    )
    return team


def test_drain_asks_before_it_deletes_pods_of_nobody(busy: Operator) -> None:
    busy("create -f -", pod("alone", node="busy"))
    said = busy.refused("drain busy")
    assert "Pods that declare no controller (use --force to override)" in said
    assert _status(busy, "busy") == "Ready,SchedulingDisabled"
    assert len(table(busy("get pods"))) == 3
    busy.run("delete pods --all --force")


def test_drain_evicts_and_waits_until_the_node_has_let_go(busy: Operator) -> None:
    done = busy.run("drain busy --timeout=3s")
    assert done.code == 1
    assert f"evicting pod {busy.namespace}/w-1" in done.out
    assert {row["STATUS"] for row in table(busy("get pods"))} == {"Terminating"}
    busy.run("delete pods --all --force")
    assert busy("drain busy").splitlines()[-1] == "node/busy drained"


def test_drain_does_not_break_a_budget(busy: Operator) -> None:
    running = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
    for name in ("w-1", "w-2"):  # a budget does not hold pods that never ran
        busy(f"patch pod {name} --subresource=status --type=merge -p '{running}'")
    busy("create poddisruptionbudget web --selector=app=web --min-available=2")
    _allow(busy, 0)
    done = busy.run("drain busy --timeout=3s")
    assert done.code == 1
    assert "Cannot evict pod as it would violate the pod's disruption budget" in done.err
    assert "Terminating" not in busy("get pods")
    _allow(busy, 1)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "w-1"}}
    address = f"/api/v1/namespaces/{busy.namespace}/pods"
    busy(f"create --raw {address}/w-1/eviction -f -", eviction)
    assert "disruption budget" in busy.refused(
        f"create --raw {address}/w-2/eviction -f -", {**eviction, "metadata": {"name": "w-2"}}
    )
    assert sorted(row["STATUS"] for row in table(busy("get pods"))) == ["Running", "Terminating"]
    busy.run("delete pods --all --force")


def _allow(busy: Operator, disruptions: int) -> None:
    """What the controller of budgets would report."""
    counted = {"currentHealthy": 2, "desiredHealthy": 2 - disruptions, "expectedPods": 2}
    status = {"status": {"disruptionsAllowed": disruptions, "observedGeneration": 1, **counted}}
    busy(f"patch pdb web --subresource=status --type=merge -p '{json.dumps(status)}'")


def test_top_says_that_nobody_tells_of_usage(kubectl: Operator) -> None:
    """No agent has announced itself: kubectl's own words for that."""
    assert "metrics not available yet" in kubectl.run("top nodes").err
    assert kubectl.run("top pods").out == ""


def test_what_needs_a_node_that_answers_is_refused_politely(team: Operator) -> None:
    _make(team, "mute")
    team("create -f -", pod("p", node="mute"))
    assert 'node "mute" of pod "p" tells no logs: no agent has announced where to ask' in team.refused(
        "logs p"
    )
    for line in ("exec p -- ls", "attach p", "cp p:/etc/hosts /tmp/never"):
        said = team.refused(line).splitlines()[-1]
        assert said.startswith(
            "Error from server (NotFound): the server could not find the requested resource: "
        )
        assert "pods have no subresource" in said
    assert "ephemeral containers are disabled for this cluster" in team.refused("debug p --image=busybox")
    assert "pod is not running" in team.refused("port-forward p 8080")
    team.run("delete pods --all --force")

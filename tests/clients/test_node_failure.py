"""Nodes that fall silent, seen with kubectl: hollow nodes, leases made and renewed by hand, a policy of a few seconds."""

from __future__ import annotations

import json
import shlex
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.clients.converging import eventually, is_live, items, rolled_out
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import workload
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "4")
NODES = tuple(f"hollow-{number}" for number in range(4))
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
REPLACES = "fairlead.dev/replaces"
TOLERATIONS = [
    {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 1,
    }
]


class Hearts:
    """Renews the lease of each node that beats, again and again."""

    def __init__(self, server: Running) -> None:
        self._server, self._stopped = server, threading.Event()
        self.beating = set(NODES)
        for name in NODES:
            lease = {"metadata": {"name": name}, "spec": {"holderIdentity": name, "renewTime": _now()}}
            assert server.request("POST", LEASES, lease)[0] == 201
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        headers = {"Content-Type": "application/merge-patch+json"}
        connection = self._server.connect()
        while not self._stopped.wait(0.4):
            for name in sorted(self.beating):
                body = {"spec": {"renewTime": _now()}}
                self._server.request(
                    "PATCH", f"{LEASES}/{name}", body, headers=headers, connection=connection
                )
        connection.close()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(30)


@pytest.fixture(scope="module")
def hearts(server: Running, kubectl: Operator) -> Iterator[Hearts]:
    policy = json.loads(kubectl.asked("get evidencepolicy default -o json"))
    # Long enough for a busy machine: a heart that beats late must not look like one that stopped.
    acts = {"StopPlacement": 5, "MarkUnknown": 9, "Release": 9, "Forget": 3600}
    spec = policy["spec"]
    spec["rows"][0]["acts"] = [{"act": act, "afterSeconds": after} for act, after in acts.items()]
    spec["zones"] |= {"releasesPerMinute": 600, "slowedReleasesPerMinute": 600}
    beating = Hearts(server)
    kubectl("patch evidencepolicy default --type=merge -p '" + json.dumps({"spec": spec}) + "'")
    yield beating
    beating.stop()


@pytest.fixture(autouse=True)
def _all_back(hearts: Hearts, kubectl: Operator) -> Iterator[None]:
    yield
    hearts.beating = set(NODES)
    _becomes(lambda: not any(_taints(kubectl, name) for name in NODES))


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _taints(kubectl: Operator, node: str) -> list[str]:
    found = json.loads(kubectl.asked(f"get node {node} -o json"))["spec"].get("taints") or []
    return [f"{each['key']}:{each['effect']}" for each in found]


def _deployed(team: Operator, replicas: int = 4, **annotations: str) -> None:
    made = workload("Deployment", "web", replicas=replicas)
    made["spec"]["template"]["metadata"]["annotations"] = annotations
    made["spec"]["template"]["spec"]["tolerations"] = TOLERATIONS
    team("create -f -", made)
    rolled_out(team, "deploy/web")


def _released(pod: dict[str, Any]) -> tuple[str, str]:
    conditions = pod["status"].get("conditions") or ()
    return next(
        ((each["status"], each["reason"]) for each in conditions if each["type"] == "fairlead.dev/Released"),
        ("", ""),
    )


def _on(team: Operator, node: str) -> list[dict[str, Any]]:
    return [pod for pod in items(team, "pods") if pod["spec"].get("nodeName") == node]


def _counted(team: Operator) -> list[dict[str, Any]]:
    return [pod for pod in items(team, "pods") if is_live(pod) and _released(pod)[0] != "True"]


def _becomes(question: Callable[[], Any]) -> Any:
    return eventually(question, 120.0)


def _suspected(kubectl: Operator, node: str) -> bool:
    """Told by an Event: the taint itself is soon replaced by a stronger one."""
    about = f"involvedObject.kind=Node,involvedObject.name={node},reason=NodeSuspect"
    return bool(items(kubectl, f"events -A --field-selector {about}"))


@pytest.fixture
def fairlead(server: Running, team: Operator) -> Callable[[str], str]:
    def run(line: str) -> str:
        words: list[str | Path] = [
            nursery.command(),
            *shlex.split(line),
            "--kubeconfig",
            str(server.kubeconfig),
        ]
        return subprocess.run(words, text=True, capture_output=True, check=True, timeout=60).stdout

    return run


@pytest.mark.soak  # test_node_loss.py has real agents
def test_a_silent_node_is_suspected_then_unknown_and_its_pod_replaced_once(
    team: Operator, kubectl: Operator, hearts: Hearts, fairlead: Callable[[str], str]
) -> None:
    """Under quotas that are just large enough for the replicas."""
    for api, kind in (("v1", "ResourceQuota"), ("fairlead.dev/v1", "PlacementQuota")):
        team(
            "create -f -",
            {"apiVersion": api, "kind": kind, "metadata": {"name": "q"}, "spec": {"hard": {"pods": "4"}}},
        )
    _deployed(team)
    (original,) = _on(team, "hollow-1")
    hearts.beating.discard("hollow-1")
    _becomes(lambda: "node.kubernetes.io/unreachable:NoExecute" in _taints(kubectl, "hollow-1"))
    _becomes(lambda: _suspected(kubectl, "hollow-1"))
    (row,) = table(kubectl("get nodes hollow-1"))
    assert row["STATUS"] == "NotReady"
    _becomes(lambda: "EvidencePolicy/default row NodeLeaseSilent" in kubectl("describe node hollow-1"))
    new = _becomes(lambda: [pod for pod in items(team, "pods") if REPLACES in pod["metadata"]["annotations"]])
    assert [pod["metadata"]["annotations"][REPLACES] for pod in new] == [original["metadata"]["uid"]]
    rolled_out(team, "deploy/web")
    _becomes(lambda: all(pod["spec"].get("nodeName") for pod in _counted(team)))
    assert len(_counted(team)) == 4
    assert {pod["spec"]["nodeName"] for pod in _counted(team)} == set(NODES) - {"hollow-1"}
    lost, space = original["metadata"]["name"], team.namespace
    (row,) = (row for row in table(fairlead("repair")) if row["OBJECT"] == f"pods {space}/{lost}")
    assert row["WHAT"] == "released, and holds its room on hollow-1"
    assert row["DUE"].endswith("unless the node is back")
    said = fairlead(f"explain pod/{new[0]['metadata']['name']} -n {space}")
    assert f"released: it takes the place of {lost}, which may still run on hollow-1" in said
    said = fairlead(f"explain pod/{lost} -n {space}")
    assert f"keeps its room on hollow-1; pod {new[0]['metadata']['name']} has its quota" in said
    for kind in ("resourcequota", "placementquota"):
        assert json.loads(team.asked(f"get {kind} q -o json"))["status"]["used"] == {"pods": "4"}
    refused = team.refused("run one-more --image=x")
    assert "exceeded quota: q, requested: pods=1, used: pods=4, limited: pods=4" in refused
    told = team(f"describe pod {original['metadata']['name']}")
    assert "NodeSilent" in told or "Released" in told
    messages = "get events --field-selector reason=PodReleased -o jsonpath={.items[*].message}"
    _becomes(lambda: "row NodeLeaseSilent" in team(messages))
    hearts.beating.add("hollow-1")
    _becomes(lambda: not _taints(kubectl, "hollow-1"))
    _becomes(
        lambda: original["metadata"]["uid"] not in {pod["metadata"]["uid"] for pod in items(team, "pods")}
    )
    assert len(items(team, "pods")) == 4, "the replacement stayed, by the default rule"
    _becomes(lambda: table(kubectl("get nodes hollow-1"))[0]["STATUS"] == "Ready")


def test_the_original_stays_where_the_rule_says_so(team: Operator, kubectl: Operator, hearts: Hearts) -> None:
    _deployed(team, 4, **{"fairlead.dev/on-return": "keep-original"})
    (original,) = _on(team, "hollow-2")
    hearts.beating.discard("hollow-2")
    _becomes(lambda: [pod for pod in items(team, "pods") if REPLACES in pod["metadata"]["annotations"]])
    hearts.beating.add("hollow-2")
    _becomes(lambda: original["metadata"]["uid"] in {pod["metadata"]["uid"] for pod in _counted(team)})
    _becomes(lambda: len(items(team, "pods")) == 4)
    rolled_out(team, "deploy/web")
    assert original["metadata"]["uid"] in {pod["metadata"]["uid"] for pod in items(team, "pods")}


def test_the_brake_is_on_when_nothing_is_heard_and_says_why(
    team: Operator, kubectl: Operator, hearts: Hearts
) -> None:
    _deployed(team)
    hearts.beating.clear()
    _becomes(lambda: table(kubectl("get evidencepolicy"))[0]["STATE"] == "Stopped")
    _becomes(lambda: table(kubectl("get evidencepolicy"))[0]["SILENT"] == "4/4")
    assert "no node of any zone is heard" in kubectl("describe evidencepolicy default")
    assert "no node of any zone is heard" in kubectl("get evidencepolicy -o wide")
    _becomes(lambda: "ZoneStopped" in kubectl("describe evidencepolicy default"))
    _becomes(lambda: {_released(pod) for pod in items(team, "pods")} == {("False", "Braked")})
    assert len(items(team, "pods")) == 4, "nothing was released, nothing replaced"
    hearts.beating = set(NODES)
    _becomes(lambda: table(kubectl("get evidencepolicy"))[0]["STATE"] == "Normal")
    _becomes(lambda: {_released(pod) for pod in items(team, "pods")} == {("", "")})
    rolled_out(team, "deploy/web")


def test_at_most_one_waits_for_a_human_who_confirms(
    team: Operator, kubectl: Operator, hearts: Hearts
) -> None:
    _deployed(team, 1, **{"fairlead.dev/at-most-one": "true"})
    (original,) = items(team, "pods")
    node = original["spec"]["nodeName"]
    hearts.beating.discard(node)
    _becomes(lambda: {_released(pod) for pod in items(team, "pods")} == {("False", "AwaitingConfirmation")})
    line = f"taint node {node} node.kubernetes.io/out-of-service=confirmed:NoExecute"
    told = [
        each["message"]
        for pod in items(team, "pods")
        for each in pod["status"]["conditions"]
        if "message" in each
    ]
    assert any(f"kubectl {line}" in each for each in told), told
    kubectl(line)
    try:
        _becomes(
            lambda: [pod for pod in _counted(team) if pod["metadata"]["uid"] != original["metadata"]["uid"]]
        )
        rolled_out(team, "deploy/web")
        _becomes(lambda: len(items(team, "pods")) == 1)
    finally:
        kubectl(f"taint node {node} node.kubernetes.io/out-of-service-")


def test_a_taint_by_hand_drives_pods_out(team: Operator, kubectl: Operator) -> None:
    _deployed(team)
    kubectl("taint node hollow-3 broken=yes:NoExecute")
    try:
        _becomes(lambda: not _on(team, "hollow-3") and len(_counted(team)) == 4)
        rolled_out(team, "deploy/web")
        _becomes(lambda: "TaintManagerEviction" in team("get events"))
    finally:
        kubectl("taint node hollow-3 broken-")


def test_a_row_may_not_claim_more_than_its_signal_bears(kubectl: Operator) -> None:
    row = {
        "name": "Timeouts",
        "signal": "ApiTimeout",
        "confidence": "low",
        "failureMode": "the write was committed",
        "acts": [{"act": "Release"}],
    }
    body = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "EvidencePolicy",
        "metadata": {"name": "default"},
        "spec": {"rows": [row]},
    }
    said = kubectl.refused("replace --dry-run=server -f -", body)
    assert "spec.rows[0].acts[0].act" in said
    assert "confidence low allows Report, RetryScheduling" in said

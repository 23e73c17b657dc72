"""One process that plays fifty nodes over HTTPS: heartbeats, pods, and nodes that fall silent by script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.clients.converging import eventually, is_live, items, rolled_out
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import workload
from tests.running import FAIRLEAD, Running

ARGUMENTS = ()
NODES = 50
SILENT_AFTER = "hollow.fairlead.dev/silent-after"
REPLACES = "fairlead.dev/replaces"
TOLERATIONS = [
    {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 1,
    }
]
SECONDS_MAX = 120.0


class Played:
    """`fairlead agent --hollow`, its reports in a file."""

    def __init__(self, server: Running, directory: Path) -> None:
        self._told = directory / "told"
        command: list[str | Path] = [
            FAIRLEAD,
            "agent",
            "--kubeconfig",
            server.kubeconfig,
            "--hollow",
            str(NODES),
        ]
        command += ["--lease-seconds", "10", "--renew-seconds", "1", "--report-every", "1s", "-o", "json"]
        with open(self._told, "wb") as told, open(directory / "trouble", "wb") as trouble:
            self.process = nursery.start(command, told, trouble)

    def reports(self) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in self._told.read_text().splitlines(keepends=True) if line[-1] == "\n"
        ]


@pytest.fixture(scope="module")
def played(server: Running, kubectl: Operator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    policy = json.loads(kubectl.asked("get evidencepolicy default -o json"))
    acts = {"StopPlacement": 8, "MarkUnknown": 14, "Release": 14, "Forget": 3600}
    spec = policy["spec"]
    spec["rows"][0]["acts"] = [{"act": act, "afterSeconds": after} for act, after in acts.items()]
    spec["zones"] |= {"releasesPerMinute": 600, "slowedReleasesPerMinute": 600}
    kubectl("patch evidencepolicy default --type=merge -p '" + json.dumps({"spec": spec}) + "'")
    playing = Played(server, tmp_path_factory.mktemp("played"))
    yield playing
    playing.process.terminate()
    assert playing.process.wait(30) == 0


def _becomes(question: Any) -> Any:
    return eventually(question, SECONDS_MAX)


def _taints(kubectl: Operator, node: str) -> list[str]:
    found = json.loads(kubectl.asked(f"get node {node} -o json"))["spec"].get("taints") or []
    return [f"{each['key']}:{each['effect']}" for each in found]


def _tainted(kubectl: Operator) -> set[str]:
    return {each["metadata"]["name"] for each in items(kubectl, "nodes") if each["spec"].get("taints")}


def _told_of(kubectl: Operator, node: str) -> set[str]:
    told = items(kubectl, f"events -A --field-selector involvedObject.kind=Node,involvedObject.name={node}")
    return {each["reason"] for each in told}


def _running_elsewhere(team: Operator, node: str) -> int:
    there = [each for each in items(team, "pods") if is_live(each) and each["spec"].get("nodeName") != node]
    return sum(each["status"]["phase"] == "Running" for each in there)


def _renewed(kubectl: Operator) -> dict[str, str]:
    leases = items(kubectl, "leases -n kube-node-lease")
    return {each["metadata"]["name"]: each["spec"]["renewTime"] for each in leases}


def test_every_node_is_there_with_a_lease_of_its_own_that_is_renewed(
    kubectl: Operator, played: Played
) -> None:
    _becomes(lambda: len(_renewed(kubectl)) == NODES)
    expected = {(f"hollow-{number}", "Ready") for number in range(NODES)}
    _becomes(lambda: {(row["NAME"], row["STATUS"]) for row in table(kubectl("get nodes"))} == expected)
    before = _renewed(kubectl)
    _becomes(lambda: all(at > before[name] for name, at in _renewed(kubectl).items()))
    uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in items(kubectl, "nodes")}
    for lease in items(kubectl, "leases -n kube-node-lease"):
        (owner,) = lease["metadata"]["ownerReferences"]
        assert owner["uid"] == uids[lease["metadata"]["name"]]
    told = _becomes(lambda: [each for each in played.reports() if each["leases"] == NODES])
    assert sum(each["renewals"] for each in played.reports()) >= NODES
    assert told[0]["late_ms"]["max"] > 0


@pytest.mark.soak  # test_node_loss.py has real agents
def test_a_node_that_falls_silent_is_suspected_then_unknown_and_its_pods_replaced(
    team: Operator, kubectl: Operator, played: Played
) -> None:
    _becomes(lambda: len(_renewed(kubectl)) == NODES)
    made = workload("Deployment", "web", replicas=NODES)
    made["spec"]["template"]["spec"]["tolerations"] = TOLERATIONS
    team("create -f -", made)
    rolled_out(team, "deploy/web")
    lost = {
        pod["metadata"]["uid"] for pod in items(team, "pods") if pod["spec"].get("nodeName") == "hollow-7"
    }
    assert lost, "the pods are spread over all nodes"
    kubectl(f"annotate node hollow-7 {SILENT_AFTER}=0s")
    _becomes(lambda: "node.kubernetes.io/unreachable:NoExecute" in _taints(kubectl, "hollow-7"))
    _becomes(lambda: _told_of(kubectl, "hollow-7") >= {"NodeSuspect", "NodeNotReady"})
    assert table(kubectl("get node hollow-7"))[0]["STATUS"] == "NotReady"
    replaced = _becomes(
        lambda: {
            pod["metadata"]["annotations"][REPLACES]
            for pod in items(team, "pods")
            if REPLACES in (pod["metadata"].get("annotations") or {})
        }
    )
    assert replaced <= lost, "nobody else was replaced"
    rolled_out(team, "deploy/web")
    _becomes(lambda: _running_elsewhere(team, "hollow-7") == NODES)
    _becomes(lambda: _tainted(kubectl) == {"hollow-7"})
    kubectl(f"annotate node hollow-7 {SILENT_AFTER}-")
    _becomes(lambda: not _taints(kubectl, "hollow-7"))
    _becomes(lambda: table(kubectl("get node hollow-7"))[0]["STATUS"] == "Ready")  # after its taints

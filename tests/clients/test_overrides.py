"""The command line of overrides in front of a running plane: made at once, reported, and whose word counts meanwhile."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.clients.converging import eventually, items, rolled_out
from tests.clients.kubectl import Operator
from tests.clients.manifests import workload
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "3")
Json = dict[str, Any]
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "kept"},
    "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "kept"}}},
}
AUTOSCALER = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 1,
        "maxReplicas": 5,
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
            }
        ],
    },
}


@pytest.fixture
def fairlead(server: Running) -> Callable[..., Json]:
    def run(*words: str) -> Json:
        given: list[str | Path] = [
            nursery.command(),
            *words,
            "-o",
            "json",
            "--kubeconfig",
            str(server.kubeconfig),
        ]
        done = subprocess.run(given, text=True, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr
        found: Json = json.loads(done.stdout)
        return found

    return run


def _pinned(node: str) -> Json:
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "containers": [{"name": "c", "image": "i"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pinned"}, "spec": spec}


def test_a_pause_is_not_looked_ahead_for_and_says_why_and_what_moves_is(
    team: Operator, fairlead: Callable[..., Json]
) -> None:
    team("apply -f -", workload("Deployment", "web", replicas=1))
    rolled_out(team, "deployment web")
    pause = ("override", "pause", "rollout", "deployment/web", "-n", team.namespace, "--reason", "test")
    made = fairlead(*pause)
    assert made["spec"]["preview"] == {"outcome": "Skipped", "message": "it moves nothing"}
    assert fairlead(*pause, "--preview")["spec"]["preview"]["outcome"] in ("Made", "TooSlow")
    avoid = ("override", "avoid", "deployment/web", "node/hollow-2", "-n", team.namespace, "--reason", "test")
    avoided = fairlead(*avoid)
    assert avoided["spec"]["preview"]["outcome"] in ("Made", "TooSlow")
    # what it closes counts with what the next test drains, and would take a second person
    fairlead("override", "end", avoided["metadata"]["name"], "-n", team.namespace)


def test_the_report_of_a_drain_joins_writes_and_decisions_and_counts_what_it_cost_others(
    team: Operator, fairlead: Callable[..., Json]
) -> None:
    team("apply -f -", BUDGET)
    for name in ("kept", "goes"):
        team("apply -f -", workload("Deployment", name, replicas=3))
        rolled_out(team, f"deployment {name}")
    there = [each for each in items(team, "pods") if each["spec"]["nodeName"] == "hollow-0"]
    names = {
        each["metadata"]["labels"]["app"]: f"pods/{team.namespace}/{each['metadata']['name']}"
        for each in there
    }
    assert set(names) == {"kept", "goes"}, "pods are spread over the nodes"
    drain = ("override", "drain", "node/hollow-0", "--skip-preview", "--name", "works", "--reason", "test")
    fairlead(*drain)
    team("apply -f -", _pinned("hollow-0"))
    team("label node hollow-0 rack=7")

    def cost() -> Json:
        found = fairlead("override", "report", "works")
        told = {field: {each["object"] for each in listed} for field, listed in found["cost"].items()}
        return told if all(told[field] for field in ("evicted", "refused", "pending")) else {}

    told = eventually(cost)
    assert names["goes"] in told["evicted"]
    assert names["kept"] in told["refused"]
    assert told["pending"] == {f"pods/{team.namespace}/pinned"}
    found = fairlead("override", "report", "works")
    assert not any(each["own"] for listed in found["cost"].values() for each in listed)
    evictions = [each for each in found["writes"] if each["object"].endswith("/eviction")]
    assert f"pods/{names['goes'].rpartition('/')[2]}/eviction" in {each["object"] for each in evictions}
    recorded = {
        each["record"].get("id"): each["record"]
        for each in fairlead("decisions", "--limit", "10000")["items"]
    }
    assert {recorded[each["decision"]]["controller"] for each in evictions} == {"override-drain"}
    (edit,) = found["edits"]
    assert (edit["object"], edit["held"]) == ("nodes/hollow-0", ["metadata.labels (drain)"])
    fairlead("override", "end", "works")
    ended = fairlead("override", "report", "works")  # also once it is gone
    assert names["goes"] in {each["object"] for each in ended["cost"]["evicted"]}


def test_for_each_field_of_an_object_it_is_told_whose_word_counts_and_who_wrote_past_it(
    team: Operator, fairlead: Callable[..., Json]
) -> None:
    team("apply -f -", workload("Deployment", "web", replicas=2))
    team("apply -f -", AUTOSCALER)
    rolled_out(team, "deployment web")

    def fields() -> dict[str, Json]:
        found = fairlead("overrides", "--object", "deployment/web", "-n", team.namespace)
        return {each["field"]: each for each in found["fields"]}

    before = fields()["spec.replicas"]
    assert (before["authority"], before["overrides"]) == ("controller autoscaler", [])
    pause = ("override", "pause", "autoscaler", "deployment/web", "-n", team.namespace, "--name", "calm")
    made = fairlead(*pause, "--reason", "test")
    team.run("scale deployment web --replicas=3")
    held = fields()["spec.replicas"]
    assert held["authority"] == f"override {team.namespace}/calm"
    assert [each["until"] for each in held["overrides"]] == [made["spec"]["expiresAt"]]
    assert held["reverts"][0].startswith("autoscaler: ")
    found = fairlead("overrides", "--object", "deployment/web", "-n", team.namespace)
    (edit,) = found["edits"]
    assert (edit["user"], edit["override"]) == ("admin", f"{team.namespace}/calm")
    assert edit["held"] == ["spec.replicas (pauseAutoscaler)"]
    assert edit["past"].startswith("autoscaler spec.replicas")
    reported = fairlead("override", "report", "calm", "-n", team.namespace)["edits"]
    assert [each["object"] for each in reported] == [edit["object"]]
    fairlead("override", "end", "calm", "-n", team.namespace)
    assert fields()["spec.replicas"]["authority"] == "controller autoscaler"


def test_who_only_approves_reads_the_report_without_what_they_may_not_see(
    server: Running, kubectl: Operator, fairlead: Callable[..., Json]
) -> None:
    file = server.directory.parent / "ben.kubeconfig"
    token: list[str | Path] = [
        nursery.command(),
        "token",
        "create",
        "--name",
        "ben",
        "--data-dir",
        server.directory,
    ]
    subprocess.run([*token, "-o", file], check=True, capture_output=True, timeout=60)
    kubectl("create clusterrolebinding ben --clusterrole=fairlead:approver --user=ben")
    cordon = ("override", "cordon", "node/hollow-1", "--skip-preview", "--name", "closed", "--reason", "test")
    fairlead(*cordon)
    words: list[str | Path] = [
        nursery.command(),
        "override",
        "report",
        "closed",
        "-n",
        "kube-system",
        "--kubeconfig",
        file,
    ]
    done = subprocess.run(words, text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "the audit log cannot be read" in done.stderr
    assert "  target    node/hollow-1" in done.stdout
    assert "  cost      not known" in done.stdout
    fairlead("override", "end", "closed")

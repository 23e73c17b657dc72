"""Leftovers with kubectl and `fairlead repair`: shown before anything happens, removed by rule, or left to people."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import nursery
from tests.clients.converging import eventually, items, names
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import node, pod
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "1")
OFF = {"spec": {"repair": {"automatic": 0, "everySeconds": 1}}}
ON = {"spec": {"repair": {"automatic": 1, "everySeconds": 1}}}


@pytest.fixture
def fairlead(server: Running) -> Callable[[str], str]:
    def run(line: str) -> str:
        words: list[str | Path] = [
            nursery.command(),
            *shlex.split(line),
            "--kubeconfig",
            str(server.kubeconfig),
        ]
        return subprocess.run(words, text=True, capture_output=True, check=True, timeout=60).stdout

    return run


@pytest.fixture(autouse=True)
def _reporting_only(kubectl: Operator) -> Iterator[None]:
    """Each test lets it act when it has seen what would be done."""
    kubectl(
        "apply -f -",
        {"apiVersion": "fairlead.dev/v1", "kind": "PlaneSettings", "metadata": {"name": "default"}, **OFF},
    )
    yield
    _switch(kubectl, OFF)


def _switch(kubectl: Operator, to: object) -> None:
    kubectl(f"patch planesettings default --type=merge -p '{json.dumps(to)}'")


def _rows(fairlead: Callable[[str], str], line: str, about: str) -> list[dict[str, str]]:
    return [row for row in table(fairlead(line)) if about in row["OBJECT"]]


def _events(team: Operator, reason: str) -> list[str]:
    return [each["message"] for each in items(team, "events") if each["reason"] == reason]


def test_a_finalizer_that_nobody_will_remove_is_shown_and_then_removed(
    team: Operator, fairlead: Callable[[str], str]
) -> None:
    tracked = pod("tracked", finalizers=["batch.kubernetes.io/job-tracking"])
    team("create -f -", tracked)
    about = f"pods/{team.namespace}/tracked"
    (row,) = eventually(lambda: _rows(fairlead, "repair", about))
    assert row["WHAT"] == "no Job counts it"
    assert (row["RULE"], row["ACT"], row["DUE"]) == (
        "JobFinalizerLeft", "remove the finalizer", "never (report only)",
    )  # fmt: skip
    assert items(team, "pods")[0]["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    _switch(team, ON)
    eventually(lambda: "finalizers" not in items(team, "pods")[0]["metadata"])
    (told,) = eventually(lambda: _events(team, "Repaired"))
    eventually(lambda: not _rows(fairlead, "repair", about))
    assert told == "no Job counts it: its finalizer is removed (repair rule JobFinalizerLeft)"
    items_told = json.loads(fairlead("decisions --controller repair -o json"))["items"]
    records = [each["record"] for each in items_told]
    assert any("JobFinalizerLeft" in each.get("message", "") and each.get("effects") for each in records)


def test_an_ended_pod_of_a_node_that_is_gone_is_marked_and_shown_with_when_it_goes(
    kubectl: Operator, team: Operator, fairlead: Callable[[str], str]
) -> None:
    team("create -f -", node("lost"))
    team("create -f -", pod("ended", node="lost"))
    status = {"status": {"phase": "Succeeded"}}
    team(f"patch pod ended --subresource=status --type=merge -p '{json.dumps(status)}'")
    kubectl("delete node lost")
    about = f"pods/{team.namespace}/ended"
    (row,) = eventually(lambda: _rows(fairlead, "repair", about))
    assert (row["RULE"], row["ACT"]) == ("EndedPodOnMissingNode", "remove")
    _switch(team, ON)

    def mark() -> list[dict[str, str]]:
        conditions = items(team, "pods")[0]["status"].get("conditions", ())
        return [each for each in conditions if each["type"] == "fairlead.dev/Leftover"]

    (found,) = eventually(mark)
    assert "(repair rule EndedPodOnMissingNode)" in found["message"]
    eventually(lambda: [row["DUE"][:3] for row in _rows(fairlead, "repair", about)] == ["in "])


def test_ended_pods_beyond_the_limit_go_earliest_first(
    team: Operator, fairlead: Callable[[str], str]
) -> None:
    for name in ("first", "second", "third"):
        team("create -f -", pod(name, node="hollow-0"))
    status = json.dumps({"status": {"phase": "Succeeded"}})
    for name in ("first", "second", "third"):
        team(f"patch pod {name} --subresource=status --type=merge -p '{status}'")
    _switch(team, {"spec": {"repair": {"endedPodsMax": 1}}})
    ended = [row for row in table(fairlead("repair")) if row["RULE"] == "EndedPodsOverLimit"]
    assert len([row for row in ended if team.namespace in row["OBJECT"]]) >= 2
    _switch(team, ON)
    eventually(lambda: len(names(team, "pods")) <= 1)
    _switch(team, {"spec": {"repair": {"endedPodsMax": None}}})


def test_what_is_not_clear_is_left_with_what_people_can_do(
    team: Operator, fairlead: Callable[[str], str]
) -> None:
    _switch(team, ON)
    reference = {"apiVersion": "example.com/v1", "kind": "Pipeline", "name": "nightly", "uid": "u-1"}
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kept", "ownerReferences": [reference]},
    }
    team("create -f -", settings)
    about = f"configmaps/{team.namespace}/kept"
    (row,) = eventually(lambda: _rows(fairlead, "repair --ambiguous", about))
    assert row["WHAT"] == "it belongs to Pipeline nightly (example.com/v1), which is not served here"
    assert row["RULE"] == "OwnerOfUnknownKind"
    assert row["TRY"].endswith(f"kubectl delete configmaps kept -n {team.namespace}")
    assert _rows(fairlead, "repair", about) == []
    (item,) = [
        each
        for each in json.loads(fairlead("repair --ambiguous -o json"))["items"]
        if each["object"] == about
    ]
    assert item["rule"] == "OwnerOfUnknownKind"
    assert "kept" in names(team, "configmaps")


def _define(kubectl: Operator, kind: str) -> str:
    """A custom kind of any shape; returns its apiVersion."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": "sea.example.com",
        "scope": "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": [version],
    }
    name = f"{plural}.sea.example.com"
    made = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    kubectl("create -f -", {**made, "metadata": {"name": name}, "spec": spec})
    kubectl(f"wait --for=condition=Established crd/{name} --timeout=60s")
    return "sea.example.com/v1"


def test_owners_of_custom_kinds_are_known_and_their_objects_looked_at(
    kubectl: Operator, team: Operator, fairlead: Callable[[str], str]
) -> None:
    version = _define(kubectl, "Tide")
    lost = {"apiVersion": "example.com/v1", "kind": "Moon", "name": "old", "uid": "u-1"}
    tide = {
        "apiVersion": version,
        "kind": "Tide",
        "metadata": {"name": "spring", "ownerReferences": [lost]},
    }
    team("create -f -", tide)
    uid = team.asked("get tides spring -o jsonpath={.metadata.uid}")
    owner = {"apiVersion": version, "kind": "Tide", "name": "spring", "uid": uid}
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "level", "ownerReferences": [owner]},
    }
    team("create -f -", made)
    (row,) = _rows(fairlead, "repair --ambiguous", f"{team.namespace}/")
    assert row["OBJECT"] == f"tides.sea.example.com/{team.namespace}/spring"
    assert row["WHAT"] == "it belongs to Moon old (example.com/v1), which is not served here"


def test_a_quota_counts_objects_of_a_custom_kind_up_and_down(kubectl: Operator, team: Operator) -> None:
    version = _define(kubectl, "Wave")
    count = "count/waves.sea.example.com"
    team(f"create quota few --hard={count}=1")
    wave = {"apiVersion": version, "kind": "Wave"}
    team("create -f -", {**wave, "metadata": {"name": "first"}})
    said = team.refused("create -f -", {**wave, "metadata": {"name": "second"}})
    assert f"exceeded quota: few, requested: {count}=1, used: {count}=1, limited: {count}=1" in said
    team("delete waves first")
    eventually(lambda: items(team, "quota")[0]["status"]["used"] == {count: "0"})
    team("create -f -", {**wave, "metadata": {"name": "second"}})

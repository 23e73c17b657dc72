"""`kubectl rollout` history, undo, status and restart of StatefulSets and DaemonSets, with pods on hollow nodes."""

from __future__ import annotations

import json

import pytest

from tests.clients.converging import eventually, is_live, items, names, rolled_out, uids
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import Manifest, workload

ARGUMENTS = ("--hollow-nodes", "2")
SHARED = True  # the server, with other modules
SETS = ["sts", "ds"]


def _made(team: Operator, kind: str) -> str:
    """A set of pods of image one:1, rolled out; its name for kubectl."""
    made: Manifest = workload("StatefulSet" if kind == "sts" else "DaemonSet", "db")
    if kind == "sts":
        made["spec"] |= {"serviceName": "db", "podManagementPolicy": "Parallel", "replicas": 2}
    made["spec"]["template"]["spec"]["containers"][0]["image"] = "one:1"
    team("create -f -", made)
    rolled_out(team, f"{kind}/db")
    return f"{kind}/db"


def _images(team: Operator) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in items(team, "pods") if is_live(pod))


def _history(team: Operator, name: str) -> list[tuple[str, str]]:
    lines = team(f"rollout history {name}").splitlines()[2:]
    return [(number, cause) for number, _, cause in (line.partition(" ") for line in lines if line)]


@pytest.mark.parametrize("kind", SETS)
def test_history_shows_revisions_and_undo_goes_back(team: Operator, kind: str) -> None:
    name = _made(team, kind)
    team(f"set image {name} main=two:2")
    eventually(
        lambda: len(_history(team, name)) == 2
    )  # before the next: no revision is made of what nobody saw
    team(f"annotate {name} kubernetes.io/change-cause=three")
    team(f"set image {name} main=three:3")
    assert "roll" in rolled_out(team, name)
    eventually(lambda: _images(team) == ["three:3", "three:3"])
    assert [(number, cause.strip()) for number, cause in _history(team, name)] == [
        ("1", "<none>"),
        ("2", "<none>"),
        ("3", "three"),
    ]
    assert "two:2" in team(f"rollout history {name} --revision=2")

    assert team(f"rollout undo {name}").rstrip().endswith("rolled back")
    rolled_out(team, name)
    eventually(lambda: _images(team) == ["two:2", "two:2"])
    eventually(lambda: [number for number, _ in _history(team, name)] == ["1", "3", "4"])

    assert team(f"rollout undo {name} --to-revision=1").rstrip().endswith("rolled back")
    rolled_out(team, name)
    eventually(lambda: _images(team) == ["one:1", "one:1"])
    assert len(items(team, "controllerrevisions")) == 3, "going back makes no new revision"
    assert "unable to find" in team.refused(f"rollout undo {name} --to-revision=99")


@pytest.mark.parametrize("kind", SETS)
def test_a_revision_belongs_to_its_set(team: Operator, kind: str) -> None:
    name = _made(team, kind)
    (row,) = table(team("get controllerrevisions"))
    owner = "statefulset.apps/db" if kind == "sts" else "daemonset.apps/db"
    assert (row["CONTROLLER"], row["REVISION"]) == (owner, "1")
    (pod, _) = items(team, "pods")
    told = pod["metadata"]["labels"]["controller-revision-hash"]
    assert row["NAME"] in (told, f"db-{told}")
    if kind == "sts":
        status = team.yaml("get sts db")["status"]
        assert status["currentRevision"] == status["updateRevision"] == row["NAME"]
    team(f"delete {name}")
    assert eventually(lambda: items(team, "controllerrevisions,pods") == [])


@pytest.mark.parametrize("kind", SETS)
def test_old_revisions_go_beyond_the_limit(team: Operator, kind: str) -> None:
    name = _made(team, kind)
    team(f'patch {name} --type=merge -p \'{{"spec":{{"revisionHistoryLimit":1}}}}\'')
    for number in (2, 3):
        team(f"set image {name} main=one:{number}")
        rolled_out(team, name)
    eventually(lambda: [number for number, _ in _history(team, name)] == ["2", "3"])


@pytest.mark.parametrize("kind", SETS)
def test_pods_and_history_outlive_a_set_and_are_adopted_by_the_next(team: Operator, kind: str) -> None:
    name = _made(team, kind)
    before = uids(team, "pods"), uids(team, "controllerrevisions")
    kept = json.loads(team.asked(f"get {name} -o json"))
    team(f"delete {name} --cascade=orphan")
    eventually(lambda: not any("ownerReferences" in pod["metadata"] for pod in items(team, "pods")))
    fresh = {"metadata": {"name": "db", "labels": {"app": "db"}}, "spec": kept["spec"]}
    team("create -f -", {"apiVersion": "apps/v1", "kind": kept["kind"], **fresh})
    rolled_out(team, name)
    owner = team.asked(f"get {name} -o jsonpath={{.metadata.uid}}")
    eventually(
        lambda: (
            {
                each["metadata"]["ownerReferences"][0]["uid"]
                for each in items(team, "pods,controllerrevisions")
                if "ownerReferences" in each["metadata"]
            }
            == {owner}
        )
    )
    assert (uids(team, "pods"), uids(team, "controllerrevisions")) == before


def test_a_pod_that_is_labelled_otherwise_is_released_and_one_labelled_so_adopted(team: Operator) -> None:
    _made(team, "ds")
    released, *_ = sorted(names(team, "pods"))
    team(f"label pod {released} app=other --overwrite")
    eventually(lambda: "ownerReferences" not in team.yaml(f"get pod {released}")["metadata"])
    eventually(lambda: len(items(team, "pods -l app=db")) == 2)
    rolled_out(team, "ds/db")


def test_a_daemon_set_that_surges_never_leaves_a_node_without(team: Operator) -> None:
    _made(team, "ds")
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    team(f"patch ds db --type=merge -p '{json.dumps({'spec': {'updateStrategy': strategy}})}'")
    team("set image ds/db main=two:2")
    rolled_out(team, "ds/db")
    eventually(lambda: _images(team) == ["two:2", "two:2"])
    eventually(lambda: team.yaml("get ds db")["status"].get("numberAvailable") == 2)

"""StatefulSets, DaemonSets and disruption budgets that controllers act on; with pods on hollow nodes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.converging import eventually, is_live, items, moments, names, now_at, rolled_out
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import Manifest, workload

ARGUMENTS = ("--hollow-nodes", "2")


@pytest.fixture(autouse=True)
def _open_again(kubectl: Operator) -> Iterator[None]:
    yield
    kubectl("uncordon hollow-0 hollow-1")


def _db(replicas: int, **spec: object) -> Manifest:
    return workload("StatefulSet", "db", replicas=replicas, serviceName="db", **spec)


def _images(team: Operator) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in items(team, "pods") if is_live(pod)}


def test_a_stateful_set_starts_in_order_and_shrinks_from_the_end(team: Operator) -> None:
    since = now_at(team)
    team("create -f -", _db(3))
    assert rolled_out(team, "sts/db").startswith("partitioned roll out complete: 3 new pods")
    assert names(team, "pods") == {"db-0", "db-1", "db-2"}
    order: list[str] = []
    for pods in moments(team, since):
        order += [name for pod in pods if (name := pod["metadata"]["name"]) not in order]
    assert order == ["db-0", "db-1", "db-2"]
    assert table(team("get sts"))[0]["READY"] == "3/3"
    team("scale sts db --replicas=1")
    assert eventually(lambda: names(team, "pods") == {"db-0"})


def test_a_parallel_stateful_set_does_not_wait(team: Operator) -> None:
    team("create -f -", _db(3, podManagementPolicy="Parallel"))
    rolled_out(team, "sts/db")
    assert names(team, "pods") == {"db-0", "db-1", "db-2"}


def test_a_stateful_set_is_updated_from_the_end(team: Operator) -> None:
    team("create -f -", _db(2, podManagementPolicy="Parallel"))
    rolled_out(team, "sts/db")
    team("set image sts/db main=db:2")
    rolled_out(team, "sts/db")
    assert _images(team) == {"db:2"}
    status = team.yaml("get sts db")["status"]
    assert status["currentRevision"] == status["updateRevision"]


def test_a_deleted_pod_of_a_stateful_set_comes_back_under_its_name(team: Operator) -> None:
    team("create -f -", _db(1))
    rolled_out(team, "sts/db")
    before = team.asked("get pod db-0 -o jsonpath={.metadata.uid}")
    team("delete pod db-0")
    # Not at once: the status tells of the one before until it is made anew.
    eventually(lambda: team.run("get pod db-0 -o jsonpath={.metadata.uid}").out not in ("", before))
    rolled_out(team, "sts/db")


def test_a_daemon_set_runs_on_every_node_also_on_a_cordoned_one(team: Operator) -> None:
    team("cordon hollow-1")
    team("create -f -", workload("DaemonSet", "agent"))
    assert rolled_out(team, "ds/agent") == 'daemon set "agent" successfully rolled out'
    assert {pod["NODE"] for pod in table(team("get pods -o wide"))} == {"hollow-0", "hollow-1"}
    (row,) = table(team("get ds"))
    assert [row[name] for name in ("DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE")] == ["2"] * 5
    team("set image ds/agent main=agent:2")
    rolled_out(team, "ds/agent")
    assert _images(team) == {"agent:2"}
    refused = team.refused("drain hollow-0 --timeout=1s")
    assert "cannot delete DaemonSet-managed Pods" in refused
    team("delete ds agent")
    assert eventually(lambda: items(team, "pods") == [])


def test_a_budget_is_computed_and_holds_evictions_back(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web", replicas=2))
    rolled_out(team, "deploy/web")
    team("create pdb web --selector=app=web --min-available=2")
    eventually(lambda: table(team("get pdb"))[0]["ALLOWED DISRUPTIONS"] == "0")
    node = items(team, "pods")[0]["spec"]["nodeName"]
    held = team.run(f"drain {node} --timeout=3s --force --ignore-daemonsets")
    assert held.code == 1
    assert "Cannot evict pod as it would violate the pod's disruption budget" in held.err
    assert all(map(is_live, items(team, "pods")))

    team('patch pdb web --type=merge -p \'{"spec":{"minAvailable":1}}\'')
    eventually(lambda: table(team("get pdb"))[0]["ALLOWED DISRUPTIONS"] == "1")
    first, second = sorted(names(team, "pods"))
    team("cordon hollow-0 hollow-1")
    _evict(team, first)
    assert "disruption budget" in team.refused(*_eviction(team, second))  # until the first is replaced
    team("uncordon hollow-0 hollow-1")
    rolled_out(team, "deploy/web")
    eventually(lambda: table(team("get pdb"))[0]["ALLOWED DISRUPTIONS"] == "1")
    _evict(team, second)


def _evict(team: Operator, name: str) -> None:
    team(*_eviction(team, name))


def _eviction(team: Operator, name: str) -> tuple[str, Manifest]:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return f"create --raw /api/v1/namespaces/{team.namespace}/pods/{name}/eviction -f -", body

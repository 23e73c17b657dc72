"""Nodes under pods that controllers keep: cordon, drain, and what the scheduler does with a node's room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.converging import eventually, is_live, items, rolled_out
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import workload

ARGUMENTS = ("--hollow-nodes", "2")


@pytest.fixture(autouse=True)
def _open_again(kubectl: Operator) -> Iterator[None]:
    yield
    kubectl("uncordon hollow-0 hollow-1")


def _nodes(team: Operator) -> set[str]:
    return {pod["spec"].get("nodeName", "") for pod in items(team, "pods") if is_live(pod)}


def test_hollow_nodes_are_ready_and_have_room(kubectl: Operator) -> None:
    assert [(row["NAME"], row["STATUS"]) for row in table(kubectl("get nodes"))] == [
        ("hollow-0", "Ready"),
        ("hollow-1", "Ready"),
    ]
    assert "HollowNodeReady" in kubectl("describe node hollow-0")


def test_new_pods_avoid_a_cordoned_node(team: Operator) -> None:
    team("cordon hollow-0")
    team("create -f -", workload("Deployment", "web", replicas=2))
    rolled_out(team, "deploy/web")
    assert _nodes(team) == {"hollow-1"}


def test_drain_moves_pods_elsewhere(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web", replicas=2))
    rolled_out(team, "deploy/web")
    assert _nodes(team) == {"hollow-0", "hollow-1"}
    node = "hollow-0"
    done = team.run(f"drain {node} --timeout=90s --ignore-daemonsets --force")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == f"node/{node} drained"
    eventually(lambda: _nodes(team) == {"hollow-0", "hollow-1"} - {node})
    rolled_out(team, "deploy/web")


def test_pods_that_fit_nowhere_wait_and_go_when_there_is_room(team: Operator) -> None:
    web = workload("Deployment", "web", replicas=3)
    web["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "20"}}
    team("create -f -", web)  # a hollow node has 32
    team("wait deploy web --for=jsonpath={.status.readyReplicas}=2 --timeout=90s")
    assert sorted(pod["STATUS"] for pod in table(team("get pods"))) == ["Pending", "Running", "Running"]
    assert _nodes(team) == {"hollow-0", "hollow-1", ""}
    (leaving,) = (pod for pod in items(team, "pods") if pod["spec"].get("nodeName") == "hollow-0")
    team("scale deploy web --replicas=2")
    rolled_out(team, "deploy/web")
    assert eventually(lambda: len(items(team, "pods")) == 2)
    assert _nodes(team) == {"hollow-0", "hollow-1"}  # the one that waited went first
    assert leaving["metadata"]["uid"] in {pod["metadata"]["uid"] for pod in items(team, "pods")}

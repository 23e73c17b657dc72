"""The oracle against the worked examples of the Kubernetes documentation, retold as tables: nodes and their room."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.cluster import Cluster
from tests.oracle.filters import feasible, refusals
from tests.oracle.labels import holds
from tests.oracle.making import (
    ZONE,
    expression,
    node,
    pod,
    preferred,
    required,
    taint,
)
from tests.oracle.requests import requests, scored_requests
from tests.oracle.scores import best, least_allocated, most_allocated

Json = dict[str, Any]


# Taints and tolerations

EQUAL = {"key": "key1", "operator": "Equal", "value": "value1", "effect": "NoSchedule"}
EXISTS = {"key": "key1", "operator": "Exists", "effect": "NoSchedule"}
TAINTED = taint("key1", "NoSchedule", "value1")
THREE = (TAINTED, taint("key1", "NoExecute", "value1"), taint("key2", "NoSchedule", "value2"))


@pytest.mark.parametrize(
    ("taints", "tolerations", "fits"),
    [
        ((TAINTED,), [], False),
        ((TAINTED,), [EQUAL], True),
        ((TAINTED,), [EXISTS], True),
        ((TAINTED,), [{**EQUAL, "value": "other"}], False),
        ((TAINTED,), [{**EQUAL, "operator": ""}], True),
        ((TAINTED,), [{"operator": "Exists"}], True),
        ((TAINTED,), [{"key": "key1", "operator": "Exists"}], True),
        ((TAINTED,), [{**EXISTS, "effect": "NoExecute"}], False),
        (THREE, [EQUAL, {**EQUAL, "effect": "NoExecute"}], False),
        (THREE, [EQUAL, {**EQUAL, "effect": "NoExecute"}, {"key": "key2", "operator": "Exists"}], True),
        ((taint("key1", "PreferNoSchedule", "value1"),), [], True),
    ],
)
def test_taints_keep_out_who_does_not_tolerate_all_of_them(
    taints: tuple[Json, ...], tolerations: list[Json], fits: bool
) -> None:
    cluster = Cluster([node("node1", taints=taints)])
    assert feasible(pod("p", tolerations=tolerations), cluster) == ({"node1"} if fits else set())


def test_the_taint_that_nobody_tolerates_is_named() -> None:
    cluster = Cluster([node("node1", taints=THREE)])
    tolerations = [EQUAL, {**EQUAL, "effect": "NoExecute"}]
    told = {("TaintToleration", "node(s) had untolerated taint {key2: value2}"): 1}
    assert refusals(pod("p", tolerations=tolerations), cluster) == told


def test_a_preference_not_to_be_used_is_felt_in_the_score_only() -> None:
    disliked = [taint(key, "PreferNoSchedule") for key in ("a", "b")]
    nodes = [node("n1", taints=(disliked[0],)), node("n2", taints=tuple(disliked)), node("n3")]
    assert best(pod("p"), Cluster(nodes)).parts["TaintToleration"] == {"n1": 50, "n2": 0, "n3": 100}


def test_a_cordoned_node_takes_only_who_tolerates_it() -> None:
    cordoned = node("n1")
    cordoned["spec"]["unschedulable"] = True
    tolerations = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]
    assert feasible(pod("p"), Cluster([cordoned])) == set()
    assert feasible(pod("p", tolerations=tolerations), Cluster([cordoned])) == {"n1"}


# Node affinity

ANTARCTICA = {"matchExpressions": [expression(ZONE, "In", "antarctica-east1", "antarctica-west1")]}


def test_required_node_affinity_names_zones_and_a_preference_decides_between_them() -> None:
    nodes = [
        node("east", "antarctica-east1"),
        node("west", "antarctica-west1", another_node_label_key="another-node-label-value"),
        node("north", "arctic-north1", another_node_label_key="another-node-label-value"),
    ]
    wish = {"matchExpressions": [expression("another-node-label-key", "In", "another-node-label-value")]}
    affinity = required("nodeAffinity", ANTARCTICA)
    affinity["nodeAffinity"] |= preferred("nodeAffinity", {"weight": 1, "preference": wish})["nodeAffinity"]
    asking = pod("with-node-affinity", affinity=affinity)
    assert feasible(asking, Cluster(nodes)) == {"east", "west"}
    assert best(asking, Cluster(nodes)).nodes == ["west"]


def test_weights_of_preferences_are_added_up() -> None:
    nodes = [node("one", label_1="key-1"), node("two", label_2="key-2"), node("none")]
    wishes = [
        {"weight": weight, "preference": {"matchExpressions": [expression(key, "In", value)]}}
        for weight, key, value in ((1, "label-1", "key-1"), (50, "label-2", "key-2"))
    ]
    found = best(pod("p", affinity=preferred("nodeAffinity", *wishes)), Cluster(nodes))
    assert found.nodes == ["two"]
    assert found.parts["NodeAffinity"] == {"one": 2, "two": 100, "none": 0}


@pytest.mark.parametrize(
    ("operator", "values", "labels", "expected"),
    [
        ("In", ["a", "b"], {"k": "b"}, True),
        ("In", ["a"], {}, False),
        ("NotIn", ["a"], {"k": "a"}, False),
        ("NotIn", ["a"], {}, True),
        ("Exists", [], {"k": ""}, True),
        ("Exists", [], {}, False),
        ("DoesNotExist", [], {"k": ""}, False),
        ("DoesNotExist", [], {}, True),
        ("Gt", ["4"], {"k": "5"}, True),
        ("Gt", ["4"], {"k": "4"}, False),
        ("Gt", ["4"], {"k": "many"}, False),
        ("Gt", ["4"], {}, False),
        ("Lt", ["4"], {"k": "3"}, True),
        ("Lt", ["4"], {"k": "30"}, False),
        ("Lt", ["4"], {"k": "-1"}, True),
    ],
)
def test_operators(operator: str, values: list[str], labels: dict[str, str], expected: bool) -> None:
    assert holds(expression("k", operator, *values), labels) is expected


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([{"matchExpressions": [expression("disk", "Exists"), expression("gpu", "Exists")]}], {"both"}),
        (
            [
                {"matchExpressions": [expression("disk", "Exists")]},
                {"matchExpressions": [expression("gpu", "Exists")]},
            ],
            {"both", "disk", "gpu"},
        ),
        ([{"matchFields": [expression("metadata.name", "In", "disk")]}], {"disk"}),
        ([{}], set()),
    ],
    ids=[
        "expressions of a term all hold",
        "terms are alternatives",
        "by name",
        "an empty term matches nothing",
    ],
)
def test_terms_and_expressions(terms: list[Json], expected: set[str]) -> None:
    nodes = [node("both", disk="ssd", gpu="yes"), node("disk", disk="ssd"), node("gpu", gpu="yes")]
    assert feasible(pod("p", affinity=required("nodeAffinity", *terms)), Cluster(nodes)) == expected


def test_node_selector_and_affinity_must_both_hold() -> None:
    nodes = [node("both", disk="ssd", gpu="yes"), node("disk", disk="ssd"), node("gpu", gpu="yes")]
    affinity = required("nodeAffinity", {"matchExpressions": [expression("gpu", "Exists")]})
    assert feasible(pod("p", nodeSelector={"disk": "ssd"}, affinity=affinity), Cluster(nodes)) == {"both"}


# Requests


def container(cpu: str = "", sidecar: bool = False, **more: str) -> Json:
    asked = {**({"cpu": cpu} if cpu else {}), **more}
    return {"name": "c", "resources": {"requests": asked}, **({"restartPolicy": "Always"} if sidecar else {})}


@pytest.mark.parametrize(
    ("inits", "containers", "overhead", "cpu"),
    [
        ([], ["100m", "200m"], "", 300),
        ([container("500m")], ["100m", "200m"], "", 500),
        ([container("200m"), container("250m")], ["100m", "200m"], "", 300),
        ([container("100m", True)], ["100m", "200m"], "", 400),
        ([container("100m", True), container("500m")], ["100m", "200m"], "", 600),
        ([container("500m"), container("100m", True)], ["100m", "200m"], "", 500),
        (
            [container("1"), container("100m", True), container("950m"), container("50m", True)],
            ["100m"],
            "",
            1050,
        ),
        ([container("500m")], ["100m"], "250m", 750),
        ([], ["0.0005", "0.0005"], "", 1),
    ],
)
def test_a_pod_needs_the_larger_of_starting_and_running(
    inits: list[Json], containers: list[str], overhead: str, cpu: int
) -> None:
    asking = pod("p", initContainers=inits, overhead={"cpu": overhead} if overhead else {})
    asking["spec"]["containers"] = [container(each) for each in containers]
    assert requests(asking)["cpu"] == cpu


@pytest.mark.parametrize(
    ("written", "bytes_"),
    [("128974848", 128974848), ("129e6", 129000000), ("129M", 129000000), ("128974848000m", 128974848), ("123Mi", 128974848), ("1.5Gi", 1610612736), ("1m", 1)],
)  # fmt: skip
def test_quantities(written: str, bytes_: int) -> None:
    asking = pod("p")
    asking["spec"]["containers"] = [container(memory=written)]
    assert requests(asking) == {"memory": bytes_}


def test_containers_that_do_not_say_are_scored_but_not_filtered_as_if_they_did() -> None:
    asking = pod("p")
    asking["spec"]["containers"] = [container(), container("0"), container("1", memory="1Gi")]
    assert requests(asking) == {"cpu": 1000, "memory": 2**30}
    assert scored_requests(asking) == {"cpu": 1100, "memory": 2**30 + 400 * 2**20}


def test_emptier_or_fuller() -> None:
    """cpu 10 with 6 asked for or taken, memory 10 with 7: (40 + 30) / 2 is free, (60 + 70) / 2 is taken."""
    nodes = [node("n", room={"cpu": "10", "memory": "10"})]
    there, asking = pod("there", "n"), pod("p")
    there["spec"]["containers"] = [container("1", memory="2")]
    asking["spec"]["containers"] = [container("5", memory="5")]
    cluster = Cluster(nodes, [there])
    assert least_allocated(asking, nodes, cluster) == {"n": 35}
    assert most_allocated(asking, nodes, cluster) == {"n": 65}


@pytest.mark.parametrize(
    ("mine", "theirs", "fits"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, False),
        ({"hostPort": 80}, {"hostPort": 81}, True),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, True),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "TCP"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, False),
        ({"hostPort": 80, "hostIP": "0.0.0.0"}, {"hostPort": 80, "hostIP": "10.0.0.1"}, False),
        ({"containerPort": 80}, {"hostPort": 80}, True),
    ],
)
def test_host_ports(mine: Json, theirs: Json, fits: bool) -> None:
    asking, there = pod("p"), pod("there", "n")
    for each, port in ((asking, mine), (there, theirs)):
        each["spec"]["containers"][0]["ports"] = [port]
    assert feasible(asking, Cluster([node("n")], [there])) == ({"n"} if fits else set())


def test_room_is_for_pods_that_run_or_leave_and_not_for_those_that_ended() -> None:
    there = [pod(name, "n", cpu="1500m") for name in ("running", "leaving", "done")]
    there[1]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    there[2]["status"] = {"phase": "Succeeded"}
    cluster = Cluster([node("n", room={"cpu": "4", "pods": "3"})], there)
    assert feasible(pod("p", cpu="1"), cluster) == {"n"}
    assert refusals(pod("p", cpu="1001m"), cluster) == {("NodeResourcesFit", "Insufficient cpu"): 1}
    small = Cluster([node("n", room={"cpu": "3", "pods": "2"})], there)
    assert refusals(pod("p", cpu="1"), small) == {
        ("NodeResourcesFit", "Insufficient cpu"): 1,
        ("NodeResourcesFit", "Too many pods"): 1,
    }

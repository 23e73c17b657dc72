"""The oracle against the worked examples of the Kubernetes documentation, retold as tables: priority and preemption."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.cluster import Cluster, priority
from tests.oracle.making import (
    HOSTNAME,
    ZONE,
    near,
    node,
    pod,
    required,
    taint,
)
from tests.oracle.preemption import preempt

Json = dict[str, Any]
STORE = {"app": "store"}
TAINTED = taint("key1", "NoSchedule", "value1")


def runs(
    name: str, on: str, value: int, cpu: str = "1", start: str = "00", labels: Json | None = None
) -> Json:
    there = pod(name, on, labels, cpu, priority=value)
    return {**there, "status": {"startTime": f"2026-01-01T{start}:00:00Z"}}


def budget(allowed: int, labels: Json) -> Json:
    metadata = {"name": "budget", "namespace": "default"}
    return {
        "metadata": metadata,
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }


ONE = {"cpu": "1"}
TWO = {"cpu": "2"}


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (Cluster([node("n", room=ONE)], [runs("same", "n", 1000)]), None),
        (Cluster([node("n", room=ONE)], [runs("low", "n", 999)]), ("n", ["low"])),
        (Cluster([node("n", taints=(TAINTED,), room=ONE)], [runs("low", "n", 0)]), None),
        (
            Cluster([node("n", room=TWO)], [runs("mid", "n", 500), runs("low", "n", 1)]),
            ("n", ["low"]),
        ),
        (
            Cluster([node("n", room=TWO)], [runs("young", "n", 1, start="05"), runs("old", "n", 1, start="01")]),
            ("n", ["young"]),
        ),
        (
            Cluster([node("a", room=ONE), node("b", room=ONE)], [runs("mid", "a", 500), runs("low", "b", 1)]),
            ("b", ["low"]),
        ),
        (
            Cluster([node("a", room=ONE), node("b", room=ONE)], [runs("x", "a", 1, "500m"), runs("y", "a", 1, "500m"), runs("z", "b", 1)]),
            ("b", ["z"]),
        ),
        (
            Cluster([node("a", room=ONE), node("b", room=ONE)], [runs("old", "a", 1, start="01"), runs("young", "b", 1, start="05")]),
            ("b", ["young"]),
        ),
        (
            Cluster([node("a", room=ONE), node("b", room=ONE)], [runs("x", "a", 1, labels=STORE), runs("y", "b", 500)], budgets=[budget(0, STORE)]),
            ("b", ["y"]),
        ),
        (
            Cluster([node("a", room=ONE)], [runs("x", "a", 1, labels=STORE)], budgets=[budget(0, STORE)]),
            ("a", ["x"]),
        ),
        (
            Cluster([node("a", room=TWO)], [runs("x", "a", 1, labels=STORE), runs("y", "a", 500)], budgets=[budget(0, STORE)]),
            ("a", ["y"]),
        ),
    ],
    ids=[
        "equals stay", "who is lower goes", "no eviction removes a taint", "the lower of two", "the younger of equals",
        "the node with the lowest", "the node with fewer", "the node with the younger",
        "budgets matter more than priority", "but are broken if there is no other way", "also on one node",
    ],
)  # fmt: skip
def test_preemption(cluster: Cluster, expected: tuple[str, list[str]] | None) -> None:
    found = preempt(pod("p", cpu="1", priority=1000), cluster)
    told = None if found is None else (found.node, [each["metadata"]["name"] for each in found.victims])
    assert told == expected
    assert preempt(pod("p", cpu="1", priority=1000, preemptionPolicy="Never"), cluster) is None


def test_affinity_to_pods_of_lower_priority_makes_them_no_victims() -> None:
    cluster = Cluster([node("n", room=ONE)], [runs("low", "n", 1, labels=STORE)])
    asking = pod("p", cpu="1", priority=1000, affinity=required("podAffinity", near(HOSTNAME, STORE)))
    assert preempt(asking, cluster) is None


def test_pods_on_other_nodes_are_no_victims() -> None:
    cluster = Cluster([node("a", "zone"), node("b", "zone")], [runs("q", "b", 1, labels=STORE)])
    asking = pod("p", cpu="1", priority=1000, affinity=required("podAntiAffinity", near(ZONE, STORE)))
    found = preempt(asking, cluster)
    assert found is not None
    assert found.node == "b"
    cluster.nodes[1]["status"]["allocatable"]["cpu"] = "500m"
    assert preempt(asking, cluster) is None


def test_priority_comes_from_the_class_the_default_class_or_is_zero() -> None:
    classes = [
        {"metadata": {"name": "high-priority"}, "value": 1000000},
        {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True},
    ]
    assert (
        priority(pod("p", priorityClassName="high-priority"), Cluster([], priority_classes=classes))
        == 1000000
    )
    assert priority(pod("p"), Cluster([], priority_classes=classes)) == 5
    assert priority(pod("p"), Cluster([], priority_classes=classes[:1])) == 0
    assert priority(pod("p", priority=7, priorityClassName="x"), Cluster([], priority_classes=classes)) == 7

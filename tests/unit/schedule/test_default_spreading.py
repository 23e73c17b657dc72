"""Pods of a set that ask for no spreading get some: over nodes first, over zones where there are any."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from msgspec import structs

from fairlead.model.views import Node, Owner, Pod
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.registry import default_policy
from fairlead.schedule.snapshot import Snapshot
from tests.unit.schedule.clusters import HOSTNAME, Json, cluster, pod
from tests.unit.schedule.clusters import node as node_with


def node(name: str, zone: str = "") -> Node:
    """So large that a pod leaves no trace in its scores."""
    return node_with(name, zone, room={"cpu": "4000", "memory": "8000Gi"})


def of_a_set(name: str, kind: str = "ReplicaSet", labels: Json | None = None, **spec: Any) -> Pod:
    made = pod(name, cpu="10m", labels={"app": "web", **(labels or {})}, **spec)
    owners = (Owner(kind, "web", "web-uid", "apps/v1", controller=True),)
    return structs.replace(made, metadata=structs.replace(made.metadata, owner_references=owners))


def placed(snapshot: Snapshot, pods: list[Pod]) -> list[str]:
    cycle = Cycle(snapshot, default_policy())
    return [cycle.place(each).node for each in pods]


def test_a_sets_pods_go_to_different_nodes_though_all_are_nearly_empty() -> None:
    nodes = tuple(node(name) for name in "abcde")
    assert sorted(placed(cluster(nodes), [of_a_set(f"w{number}") for number in range(5)])) == list("abcde")


def test_pods_of_no_set_go_where_they_would_go_anyhow() -> None:
    nodes = tuple(node(name) for name in "abc")
    assert len(set(placed(cluster(nodes), [pod(f"p{number}", cpu="1m") for number in range(3)]))) == 1


def test_zones_are_filled_alike() -> None:
    nodes = (node("a1", "a"), node("a2", "a"), node("a3", "a"), node("b1", "b"))
    found = placed(cluster(nodes), [of_a_set(f"w{number}") for number in range(4)])
    assert (
        Counter(name[0] for name in found) == {"a": 3, "b": 1} or Counter(name[0] for name in found)["b"] == 2
    )


@pytest.mark.parametrize("unlike", ["statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"])
def test_what_tells_a_stateful_sets_pods_apart_does_not_make_them_strangers(unlike: str) -> None:
    nodes = tuple(node(name) for name in "abc")
    pods = [of_a_set(f"w{number}", "StatefulSet", {unlike: f"w{number}"}) for number in range(3)]
    assert sorted(placed(cluster(nodes), pods)) == list("abc")


def test_what_a_pod_asks_for_itself_takes_its_place() -> None:
    asked = {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "ScheduleAnyway"}
    facts = Snapshot().facts_of(of_a_set("w", topologySpreadConstraints=[asked]))
    assert [spread.by_default for spread in facts.spreads] == [False]


def test_a_node_without_a_hostname_is_judged_all_the_same() -> None:
    plain = structs.replace(node("a"), metadata=structs.replace(node("a").metadata, labels={}))
    assert placed(cluster((plain,)), [of_a_set("w")]) == ["a"]

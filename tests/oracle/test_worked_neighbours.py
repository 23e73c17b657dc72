"""The oracle against the worked examples of the Kubernetes documentation, retold as tables: spreading and affinity."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.cluster import Cluster
from tests.oracle.filters import feasible, refusals
from tests.oracle.making import (
    HOSTNAME,
    ZONE,
    expression,
    near,
    node,
    pod,
    preferred,
    required,
    spread,
    taint,
)
from tests.oracle.scores import best

Json = dict[str, Any]
FOO = {"foo": "bar"}
TAINTED = taint("key1", "NoSchedule", "value1")


# Topology spread

AB = [node("node1", "zoneA"), node("node2", "zoneA"), node("node3", "zoneB"), node("node4", "zoneB")]
ABC = [*AB, node("node5", "zoneC")]


def laid_out(nodes: list[Json], **pods: int) -> Cluster:
    """node1=2: two pods labelled foo=bar there."""
    return Cluster(
        nodes, [pod(f"{name}-{each}", name, FOO) for name, number in pods.items() for each in range(number)]
    )


def constrained(*constraints: Json, **spec: Any) -> Json:
    return pod("mypod", labels=FOO, topologySpreadConstraints=list(constraints), **spec)


NOT_C = required("nodeAffinity", {"matchExpressions": [expression(ZONE, "NotIn", "zoneC")]})


@pytest.mark.parametrize(
    ("cluster", "asking", "expected"),
    [
        (
            laid_out(AB, node1=1, node2=1, node3=1),
            constrained(spread(ZONE, 1, FOO)),
            {"node3", "node4"},
        ),
        (
            laid_out(AB, node1=1, node2=1, node3=1),
            constrained(spread(ZONE, 2, FOO)),
            {"node1", "node2", "node3", "node4"},
        ),
        (
            laid_out(AB, node1=1, node2=1, node3=1),
            constrained(spread(ZONE, 1, FOO), spread(HOSTNAME, 1, FOO)),
            {"node4"},
        ),
        (
            laid_out(AB[:3], node1=2, node2=1, node3=2),
            constrained(spread(ZONE, 1, FOO), spread(HOSTNAME, 1, FOO)),
            set(),
        ),
        (
            laid_out(AB[:3], node1=2, node2=1, node3=2),
            constrained(spread(ZONE, 1, FOO), spread(HOSTNAME, 1, FOO, "ScheduleAnyway")),
            {"node3"},
        ),
        (
            laid_out(ABC, node1=1, node2=1, node3=1),
            constrained(spread(ZONE, 1, FOO), affinity=NOT_C),
            {"node3", "node4"},
        ),
        (
            laid_out(ABC, node1=1, node2=1, node3=1),
            constrained(spread(ZONE, 1, FOO, nodeAffinityPolicy="Ignore"), affinity=NOT_C),
            set(),
        ),
    ],
    ids=[
        "one constraint", "a larger skew", "two constraints", "two that conflict", "one of two is a wish",
        "a zone that is excluded does not count", "a zone that is excluded and counts",
    ],
)  # fmt: skip
def test_spreading_over_zones_and_nodes(cluster: Cluster, asking: Json, expected: set[str]) -> None:
    assert feasible(asking, cluster) == expected


THREE_ZONES = [node("a", "zone1"), node("b", "zone2"), node("c", "zone3")]


@pytest.mark.parametrize(
    ("pods", "skew", "least_domains", "expected"),
    [
        ((2, 2, 1), 1, None, {"c"}),
        ((2, 2, 1), 2, None, {"a", "b", "c"}),
        ((3, 1, 1), 1, None, {"b", "c"}),
        ((2, 2, 2), 2, 5, set()),
        ((2, 2, 2), 2, 3, {"a", "b", "c"}),
        ((1, 1, 1), 2, 5, {"a", "b", "c"}),
    ],
)
def test_skew_and_domains(
    pods: tuple[int, int, int], skew: int, least_domains: int | None, expected: set[str]
) -> None:
    more: Json = {} if least_domains is None else {"minDomains": least_domains}
    cluster = laid_out(THREE_ZONES, a=pods[0], b=pods[1], c=pods[2])
    assert feasible(constrained(spread(ZONE, skew, FOO, **more)), cluster) == expected


def test_a_node_without_the_key_is_passed_over_and_told_apart() -> None:
    cluster = laid_out([*AB, node("nowhere")], node1=1, node2=1, node3=1)
    reason = "node(s) didn't match pod topology spread constraints"
    assert refusals(constrained(spread(ZONE, 1, FOO)), cluster) == {
        ("PodTopologySpread", reason): 2,
        ("PodTopologySpread", f"{reason} (missing required label)"): 1,
    }


def test_pods_on_their_way_out_and_of_other_namespaces_are_not_spread_against() -> None:
    cluster = laid_out(AB, node1=1, node2=1, node3=1)
    cluster.pods[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert len(feasible(constrained(spread(ZONE, 1, FOO)), cluster)) == 4
    cluster.pods[1]["metadata"]["namespace"] = "other"
    assert feasible(constrained(spread(ZONE, 1, FOO)), cluster) == {"node1", "node2"}


def test_tainted_nodes_count_unless_it_is_said_that_they_should_not() -> None:
    cluster = laid_out([*AB, node("node5", "zoneC", (TAINTED,))], node1=1, node2=1, node3=1)
    assert feasible(constrained(spread(ZONE, 1, FOO)), cluster) == set()
    honest = spread(ZONE, 1, FOO, nodeTaintsPolicy="Honor")
    assert feasible(constrained(honest), cluster) == {"node3", "node4"}


def test_revisions_of_a_deployment_are_spread_each_for_itself() -> None:
    labels = {**FOO, "pod-template-hash": "new"}
    cluster = laid_out(AB, node1=3)
    constraint = spread(ZONE, 1, FOO, matchLabelKeys=["pod-template-hash", "a-key-it-has-not"])
    asking = pod("mypod", labels=labels, topologySpreadConstraints=[constraint])
    assert len(feasible(asking, cluster)) == 4
    assert feasible(constrained(spread(ZONE, 1, FOO)), cluster) == {"node3", "node4"}


def test_a_wish_for_spreading_prefers_the_emptier_zone() -> None:
    cluster = laid_out(AB, node1=1, node2=1, node3=1)
    found = best(constrained(spread(ZONE, 1, FOO, "ScheduleAnyway")), cluster)
    # 2 and 1 pods, each weighed ln(2 domains + 2), rounded: 3 and 1.
    assert found.parts["PodTopologySpread"] == {"node1": 33, "node2": 33, "node3": 100, "node4": 100}
    assert found.nodes == ["node4"]


# Affinity between pods

STORE, WEB = {"app": "store"}, {"app": "web-store"}


def test_a_store_beside_every_web_server_and_each_on_its_own_node() -> None:
    cluster = Cluster([node(name) for name in ("node-1", "node-2", "node-3")])
    redis = pod("redis-cache", labels=STORE, affinity=required("podAntiAffinity", near(HOSTNAME, STORE)))
    both = required("podAntiAffinity", near(HOSTNAME, WEB)) | required("podAffinity", near(HOSTNAME, STORE))
    server = pod("web-server", labels=WEB, affinity=both)
    assert feasible(server, cluster) == set()
    for left in (3, 2, 1):
        assert len(feasible(redis, cluster)) == left
        cluster = cluster.with_pod(redis, best(redis, cluster).nodes[0])
    assert feasible(redis, cluster) == set()
    for left in (3, 2, 1):
        assert len(feasible(server, cluster)) == left
        cluster = cluster.with_pod(server, best(server, cluster).nodes[0])
    assert feasible(server, cluster) == set()
    assert sorted(pod["spec"]["nodeName"] for pod in cluster.pods) == sorted(
        2 * ["node-1", "node-2", "node-3"]
    )


def test_near_what_is_secure_and_rather_not_near_what_is_less_so() -> None:
    s1, s2 = {"security": "S1"}, {"security": "S2"}
    cluster = Cluster(
        [node("v1", "V"), node("v2", "V"), node("w", "W")], [pod("one", "v1", s1), pod("two", "v1", s2)]
    )
    wish = {"weight": 100, "podAffinityTerm": near(HOSTNAME, s2)}
    affinity = required("podAffinity", near(ZONE, s1)) | preferred("podAntiAffinity", wish)
    asking = pod("with-pod-affinity", affinity=affinity)
    assert feasible(asking, cluster) == {"v1", "v2"}
    assert best(asking, cluster).nodes == ["v2"]
    assert best(asking, cluster).parts["InterPodAffinity"] == {"v1": 0, "v2": 100}


def test_the_first_of_a_group_may_go_anywhere_that_has_the_key_and_the_next_must_follow() -> None:
    cluster = Cluster([node("a", "zoneA"), node("b", "zoneB"), node("nowhere")])
    group = pod("first", labels=STORE, affinity=required("podAffinity", near(ZONE, STORE)))
    assert feasible(group, cluster) == {"a", "b"}
    assert feasible(group, cluster.with_pod(group, "b")) == {"b"}
    stranger = pod("stranger", affinity=required("podAffinity", near(ZONE, STORE)))
    assert feasible(stranger, cluster) == set()


def test_anti_affinity_holds_both_ways() -> None:
    lonely = pod("lonely", "a", STORE, affinity=required("podAntiAffinity", near(ZONE, WEB)))
    cluster = Cluster([node("a", "zoneA"), node("a2", "zoneA"), node("b", "zoneB")], [lonely])
    told = {("InterPodAffinity", "node(s) didn't satisfy existing pods anti-affinity rules"): 2}
    assert feasible(pod("p", labels=WEB), cluster) == {"b"}
    assert refusals(pod("p", labels=WEB), cluster) == told


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ({}, set()),
        ({"namespaces": ["team"]}, {"a"}),
        ({"namespaces": ["default"]}, set()),
        ({"namespaceSelector": {}}, {"a"}),
        ({"namespaceSelector": {"matchLabels": {"env": "prod"}}}, {"a"}),
        ({"namespaceSelector": {"matchLabels": {"env": "test"}}}, set()),
        ({"namespaces": ["default"], "namespaceSelector": {"matchLabels": {"env": "prod"}}}, {"a"}),
        ({"namespaces": ["team"], "matchLabelKeys": ["tier"]}, set()),
        ({"namespaces": ["team"], "mismatchLabelKeys": ["tier"]}, {"a"}),
        ({"namespaces": ["team"], "matchLabelKeys": ["a-key-it-has-not"]}, {"a"}),
    ],
)
def test_namespaces_of_a_term(term: Json, expected: set[str]) -> None:
    space = {"metadata": {"name": "team", "labels": {"env": "prod"}}}
    there = pod("there", "a", {**STORE, "tier": "back"}, namespace="team")
    cluster = Cluster([node("a"), node("b")], [there], [space])
    asking = pod(
        "p", labels={"tier": "front"}, affinity=required("podAffinity", near(HOSTNAME, STORE, **term))
    )
    assert feasible(asking, cluster) == expected


def test_what_neighbours_ask_for_counts_when_nodes_are_scored() -> None:
    wish = {"weight": 10, "podAffinityTerm": near(HOSTNAME, WEB)}
    fan = pod("fan", "a", affinity=preferred("podAffinity", wish))
    needy = pod("needy", "b", affinity=required("podAffinity", near(HOSTNAME, WEB)))
    shy = pod("shy", "c", affinity=preferred("podAntiAffinity", wish))
    cluster = Cluster([node(name) for name in "abcd"], [fan, needy, shy])
    found = best(pod("p", labels=WEB), cluster).parts["InterPodAffinity"]
    assert found == {"a": 100, "b": 55, "c": 0, "d": 50}  # 10, 1, -10 and 0

"""Every plugin on clusters made by hand: where a pod may go, in which words it may not, and what places are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairlead.model.views import Node, Pod
from fairlead.schedule.contract import Plugin
from fairlead.schedule.plugins.balanced_allocation import BalancedAllocation
from fairlead.schedule.plugins.inter_pod_affinity import InterPodAffinity
from fairlead.schedule.plugins.node_affinity import NodeAffinity
from fairlead.schedule.plugins.node_ports import NodePorts
from fairlead.schedule.plugins.node_resources_fit import MOST, NodeResourcesFit
from fairlead.schedule.plugins.node_unschedulable import NodeUnschedulable
from fairlead.schedule.plugins.pod_topology_spread import PodTopologySpread
from fairlead.schedule.plugins.taint_toleration import TaintToleration
from tests.unit.schedule.clusters import HOSTNAME, ZONE, cluster, node, pod, viewed

Json = dict[str, Any]
WEB, DB = {"app": "web"}, {"app": "db"}
ALL = "abc"


def asked(
    plugin: Plugin, nodes: tuple[Node, ...], pods: tuple[Pod, ...], incoming: Pod
) -> tuple[Any, Any, Any]:
    """(names where it may go, why not elsewhere, score by name), each None where the plugin has no opinion."""
    snapshot = cluster(nodes, pods)
    prepared = plugin.prepare(snapshot, snapshot.facts_of(incoming))
    if prepared is None:
        return None, None, None
    slots = snapshot.nodes.slot
    mask = prepared.mask()
    open_slots = snapshot.nodes.present if mask is None else snapshot.nodes.present & mask
    scores = prepared.scores(open_slots)
    refused = np.array([slot for slot in slots.values() if not open_slots[slot]], np.int64)
    return (
        None if mask is None else "".join(sorted(name for name, slot in slots.items() if mask[slot])),
        prepared.reasons(refused) if len(refused) else {},
        None if scores is None else {n: int(scores[s]) for n, s in sorted(slots.items()) if open_slots[s]},
    )


def terms(kind: str, *found: Json, preferred: bool = False) -> Json:
    when = "preferred" if preferred else "required"
    return {kind: {f"{when}DuringSchedulingIgnoredDuringExecution": list(found)}}


def near(labels: Json, key: str = HOSTNAME) -> Json:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def wish(labels: Json, weight: int, key: str = HOSTNAME) -> Json:
    return {"weight": weight, "podAffinityTerm": near(labels, key)}


def spread(key: str, skew: int = 1, when: str = "DoNotSchedule", **more: Any) -> Json:
    selector = {"matchLabels": WEB}
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": when, "labelSelector": selector, **more}


# Nodes alone

CORDONED = (node("a"), node("b", unschedulable=True))


@pytest.mark.parametrize(
    ("nodes", "spec", "expected"),
    [
        ((node("a"),), {}, (None, None, None)),
        (CORDONED, {}, ("a", {"node(s) were unschedulable": 1}, None)),
        (
            CORDONED,
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
            (None, None, None),
        ),
    ],
)
def test_cordoned_nodes(nodes: tuple[Node, ...], spec: Json, expected: Any) -> None:
    assert asked(NodeUnschedulable(), nodes, (), pod("p", **spec)) == expected


def tainted(name: str, *taints: tuple[str, str, str]) -> Node:
    return node(name, taints=[{"key": k, "value": v, "effect": e} for k, v, e in taints])


TAINTED = (
    tainted("a"),
    tainted("b", ("gpu", "yes", "NoSchedule")),
    tainted("c", ("slow", "", "PreferNoSchedule"), ("old", "", "PreferNoSchedule")),
)
UNTOLERATED = {"node(s) had untolerated taint {gpu: yes}": 1}


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], ("ac", UNTOLERATED, {"a": 100, "c": 0})),
        ([{"key": "gpu", "value": "no"}], ("ac", UNTOLERATED, {"a": 100, "c": 0})),
        ([{"key": "gpu", "value": "yes"}], ("abc", {}, {"a": 100, "b": 100, "c": 0})),
        (
            [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}],
            ("ac", UNTOLERATED, {"a": 100, "c": 0}),
        ),
        ([{"operator": "Exists"}], ("abc", {}, {"a": 100, "b": 100, "c": 100})),
        ([{"key": "slow", "operator": "Exists"}], ("ac", UNTOLERATED, {"a": 100, "c": 0})),
    ],
)
def test_taints(tolerations: list[Json], expected: Any) -> None:
    assert asked(TaintToleration(), TAINTED, (), pod("p", tolerations=tolerations)) == expected


UNREADY: tuple[Json, ...] = (
    {"conditions": []},
    {"conditions": [{"type": "Ready", "status": "False"}]},
    {"conditions": [{"type": "Ready", "status": "Unknown"}]},
)


@pytest.mark.parametrize("status", UNREADY, ids=["says nothing", "not ready", "unknown"])
def test_a_node_that_does_not_say_that_it_is_ready_repels_like_a_tainted_one(status: Json) -> None:
    unready = viewed({"metadata": {"name": "a", "uid": "a"}, "status": status}, Node)
    reason = "node(s) had untolerated taint {node.kubernetes.io/not-ready: }"
    assert asked(TaintToleration(), (unready, node("b")), (), pod("p"))[:2] == ("b", {reason: 1})
    tolerations = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}]
    tolerant = pod("p", tolerations=tolerations)
    assert asked(TaintToleration(), (unready, node("b")), (), tolerant)[0] == "ab"


def test_a_node_that_is_being_deleted_repels_like_one_that_is_not_ready() -> None:
    leaving = viewed(
        {
            "metadata": {"name": "a", "uid": "a", "deletionTimestamp": "2026-01-02T00:00:00Z"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        },
        Node,
    )
    assert asked(TaintToleration(), (leaving, node("b")), (), pod("p"))[0] == "b"


DISKS = (
    node("a", labels={"disk": "ssd", "size": "10"}),
    node("b", labels={"disk": "hdd", "size": "30"}),
    node("c"),
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ({"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}, "a"),
        ({"key": "disk", "operator": "NotIn", "values": ["ssd"]}, "bc"),
        ({"key": "disk", "operator": "Exists"}, "ab"),
        ({"key": "disk", "operator": "DoesNotExist"}, "c"),
        ({"key": "size", "operator": "Gt", "values": ["10"]}, "b"),
        ({"key": "size", "operator": "Lt", "values": ["30"]}, "a"),
    ],
)
def test_required_node_affinity(expression: Json, expected: str) -> None:
    found = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": found}}
    told = {"node(s) didn't match Pod's node affinity/selector": 3 - len(expected)}
    assert asked(NodeAffinity(), DISKS, (), pod("p", affinity=affinity)) == (expected, told, None)


def test_node_selector_and_preferences() -> None:
    found = asked(NodeAffinity(), DISKS, (), pod("p", nodeSelector={"disk": "ssd"}))
    assert found == ("a", {"node(s) didn't match Pod's node affinity/selector": 2}, None)
    wishes = [
        {"weight": 30, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}},
        {
            "weight": 10,
            "preference": {"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["20"]}]},
        },
    ]
    affinity = terms("nodeAffinity", *wishes, preferred=True)
    assert asked(NodeAffinity(), DISKS, (), pod("p", affinity=affinity))[2] == {"a": 75, "b": 100, "c": 0}
    assert asked(NodeAffinity(), DISKS, (), pod("p")) == (None, None, None)


# What pods take


def host(port: int, protocol: str = "TCP", address: str = "") -> tuple[Json, ...]:
    return ({"containerPort": 1, "hostPort": port, "protocol": protocol, "hostIP": address},)


@pytest.mark.parametrize(
    ("taken", "wanted", "free"),
    [
        (host(80), host(80), "b"),
        (host(80), host(81), "ab"),
        (host(80), host(80, "UDP"), "ab"),
        (host(80, address="10.0.0.1"), host(80, address="10.0.0.2"), "ab"),
        (host(80, address="10.0.0.1"), host(80), "b"),
    ],
)
def test_host_ports(taken: Any, wanted: Any, free: str) -> None:
    told = {"node(s) didn't have free ports for the requested pod ports": 1} if free == "b" else {}
    found = asked(NodePorts(), (node("a"), node("b")), (pod("x", "a", ports=taken),), pod("p", ports=wanted))
    assert found == (free, told, None)
    assert asked(NodePorts(), (node("a"),), (), pod("p")) == (None, None, None)


def test_room_and_what_is_lacking() -> None:
    nodes = (node("a"), node("b", room={"memory": "1Gi"}), node("c", room={"pods": "1"}))
    pods = (pod("x", "a", "3"), pod("y", "c", requests={"memory": "7Gi"}))
    incoming = pod("p", cpu="1500m", requests={"memory": "2Gi"})
    told = {"Insufficient cpu": 1, "Insufficient memory": 2, "Too many pods": 1}
    assert asked(NodeResourcesFit(), nodes, pods, incoming)[:2] == ("", told)
    lacking = asked(NodeResourcesFit(), nodes, (), pod("p", requests={"example.com/gpu": 1}))
    assert lacking[:2] == ("", {"Insufficient example.com/gpu": 3})


def test_what_a_node_does_not_name_it_has_none_of() -> None:
    """Also of room for pods, as in Kubernetes."""
    silent = viewed({"metadata": {"name": "a", "uid": "a"}, "status": {"allocatable": {"cpu": "4"}}}, Node)
    assert asked(NodeResourcesFit(), (silent,), (), pod("p"))[:2] == ("", {"Too many pods": 1})


def test_emptier_or_fuller_nodes_are_worth_more() -> None:
    nodes = (node("a"), node("b"), node("c", room={"cpu": "0"}))
    pods = (pod("x", "a", "1", requests={"memory": "2Gi"}),)
    incoming = pod("p", cpu="1", requests={"memory": "2Gi"})
    assert asked(NodeResourcesFit(), nodes, pods, incoming)[2] == {"a": 50, "b": 75}
    assert asked(NodeResourcesFit(MOST), nodes, pods, incoming)[2] == {"a": 50, "b": 25}
    # Whoever does not say counts as 100m and 200Mi here: 97 of 100 and 97 of 100 are left.
    assert asked(NodeResourcesFit(), nodes, (), pod("p"))[2] == {"a": 97, "b": 97, "c": 97}


def test_nodes_used_in_like_shares_are_worth_more() -> None:
    nodes = (node("a"), node("b"), node("c", room={"memory": "0"}))
    pods = (pod("x", "a", "1"), pod("y", "b", requests={"memory": "2Gi"}))
    incoming = pod("p", cpu="1")
    # a: half of cpu instead of a quarter, nothing of memory; b: a quarter of each, not of one; c has no memory.
    assert asked(BalancedAllocation(), nodes, pods, incoming)[2] == {"a": 68, "b": 81, "c": 75}
    assert asked(BalancedAllocation(), nodes, pods, pod("p")) == (None, None, None)


# Neighbours

ZONED = (node("a", "z1"), node("b", "z1"), node("c", "z2"))
SKEWED = "node(s) didn't match pod topology spread constraints"


@pytest.mark.parametrize(
    ("on", "constraint", "expected"),
    [
        ("", spread(ZONE), ("abc", {})),
        ("a", spread(ZONE), ("c", {SKEWED: 2})),
        ("ac", spread(ZONE), ("abc", {})),
        ("a", spread(ZONE, 2), ("abc", {})),
        ("ab", spread(HOSTNAME), ("c", {SKEWED: 2})),
        ("ac", spread(ZONE, minDomains=3), ("", {SKEWED: 3})),
        ("a", spread("rack"), ("", {f"{SKEWED} (missing required label)": 3})),
    ],
)
def test_required_spreading(on: str, constraint: Json, expected: Any) -> None:
    pods = tuple(pod(f"on-{name}", name, labels=WEB) for name in on)
    incoming = pod("p", labels=WEB, topologySpreadConstraints=[constraint])
    assert asked(PodTopologySpread(), ZONED, pods, incoming)[:2] == expected


def test_pods_on_their_way_out_do_not_count_for_spreading() -> None:
    pods = (pod("x", "a", labels=WEB, leaving=True),)
    incoming = pod("p", labels=WEB, topologySpreadConstraints=[spread(ZONE)])
    assert asked(PodTopologySpread(), ZONED, pods, incoming)[0] == "abc"


def test_wished_spreading_makes_full_domains_dear() -> None:
    pods = (pod("x", "a", labels=WEB), pod("y", "b", labels=WEB))
    wished = [spread(ZONE, when="ScheduleAnyway")]
    found = asked(PodTopologySpread(), ZONED, pods, pod("p", labels=WEB, topologySpreadConstraints=wished))
    assert found == (None, {}, {"a": 0, "b": 0, "c": 100})


AWAY = "node(s) didn't match pod affinity rules"
NEAR = "node(s) didn't match pod anti-affinity rules"
UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"


@pytest.mark.parametrize(
    ("there", "labels", "affinity", "expected"),
    [
        ((), WEB, {}, (None, {}, None)),
        ((pod("x", "a", labels=DB),), WEB, terms("podAffinity", near(DB)), ("a", {AWAY: 2}, None)),
        ((pod("x", "a", labels=DB),), WEB, terms("podAffinity", near(DB, ZONE)), ("ab", {AWAY: 1}, None)),
        ((), WEB, terms("podAffinity", near(DB)), ("", {AWAY: 3}, None)),
        ((), WEB, terms("podAffinity", near(WEB)), ("abc", {}, None)),
        ((), WEB, terms("podAffinity", near(WEB, "rack")), ("", {AWAY: 3}, None)),
        ((pod("x", "a", labels=WEB),), WEB, terms("podAntiAffinity", near(WEB)), ("bc", {NEAR: 1}, None)),
        (
            (pod("x", "a", labels=WEB),),
            WEB,
            terms("podAntiAffinity", near(WEB, ZONE)),
            ("c", {NEAR: 2}, None),
        ),
        (
            (pod("x", "c", labels=DB, affinity=terms("podAntiAffinity", near(WEB))),),
            WEB,
            {},
            ("ab", {UNWELCOME: 1}, None),
        ),
        ((pod("x", "c", affinity=terms("podAntiAffinity", near(WEB))),), DB, {}, (None, {}, None)),
        (
            (pod("x", "a", labels=DB), pod("y", "c", labels=DB), pod("z", "c", labels=DB)),
            WEB,
            terms("podAffinity", wish(DB, 10), preferred=True),
            (None, {}, {"a": 50, "b": 0, "c": 100}),
        ),
        (
            (pod("x", "a", labels=DB),),
            WEB,
            terms("podAntiAffinity", wish(DB, 10, ZONE), preferred=True),
            (None, {}, {"a": 0, "b": 0, "c": 100}),
        ),
        (
            (pod("x", "a", affinity=terms("podAffinity", wish(WEB, 10), preferred=True)),),
            WEB,
            {},
            (None, {}, {"a": 100, "b": 0, "c": 0}),
        ),
    ],
)
def test_neighbours(there: tuple[Pod, ...], labels: Json, affinity: Json, expected: Any) -> None:
    assert asked(InterPodAffinity(), ZONED, there, pod("p", labels=labels, affinity=affinity)) == expected

"""What a node is worth to a pod: each scoring plugin of the default profile, with its normalisation, and the total.

A plugin takes the pod, the nodes that are feasible for it and the cluster, and gives 0..100 per node name. Shares are
whole numbers, rounded down, except where the documented formula is one of fractions: balance, the weights of spreading
and the scaling of pod affinity are evaluated in floating point, in the order in which they are written down here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.oracle.cluster import Cluster
from tests.oracle.filters import (
    counted_nodes,
    feasible,
    matching_pods,
    pod_terms,
    spread_constraints,
    term_means,
    together,
    tolerates,
)
from tests.oracle.labels import labels_of, term_holds
from tests.oracle.requests import allocatable, requests, scored_requests

Json = dict[str, Any]
Scores = dict[str, int]
Score = Callable[[Json, list[Json], Cluster], Scores]

HOSTNAME = "kubernetes.io/hostname"
HARD_POD_AFFINITY_WEIGHT = 1


def name_of(obj: Json) -> str:
    return str(obj["metadata"]["name"])


def scaled(raw: Scores, reverse: bool = False) -> Scores:
    """The largest becomes 100, the others their share of it; or the other way round."""
    largest = max(raw.values(), default=0)
    shares = {name: value * 100 // largest if largest else 0 for name, value in raw.items()}
    return {name: 100 - share for name, share in shares.items()} if reverse else shares


# Resources


def _loads(pod: Json, node: Json, cluster: Cluster) -> list[tuple[int, int]]:
    """(taken with this pod, allocatable) of cpu and memory, as far as the node has them."""
    taken = [scored_requests(each) for each in (pod, *cluster.on(node))]
    loads = [(sum(each[name] for each in taken), allocatable(node, name)) for name in ("cpu", "memory")]
    return [(load, room) for load, room in loads if room]


def least_allocated(pod: Json, nodes: list[Json], cluster: Cluster) -> Scores:
    found = {}
    for node in nodes:
        parts = [max(room - load, 0) * 100 // room for load, room in _loads(pod, node, cluster)]
        found[name_of(node)] = sum(parts) // len(parts) if parts else 0
    return found


def most_allocated(pod: Json, nodes: list[Json], cluster: Cluster) -> Scores:
    found = {}
    for node in nodes:
        parts = [min(load, room) * 100 // room for load, room in _loads(pod, node, cluster)]
        found[name_of(node)] = sum(parts) // len(parts) if parts else 0
    return found


def balanced_allocation(pod: Json, nodes: list[Json], cluster: Cluster) -> Scores:
    """By what was asked for, with nothing assumed. A pod that asks for nothing unbalances nothing."""
    asked = requests(pod)
    if not asked.get("cpu") and not asked.get("memory"):
        return {name_of(node): 0 for node in nodes}
    found = {}
    for node in nodes:
        there = [requests(each) for each in cluster.on(node)]
        deviations = []
        for pods in (there, [*there, asked]):
            shares = []
            for resource in ("cpu", "memory"):
                room = allocatable(node, resource)
                if room:
                    shares.append(min(sum(each.get(resource, 0) for each in pods) / room, 1.0))
            deviations.append(abs(shares[0] - shares[1]) / 2 if len(shares) == 2 else 0.0)
        without, with_it = deviations
        found[name_of(node)] = int((0.75 + (without - with_it) / 2) * 100)
    return found


# Nodes


def taint_toleration(pod: Json, nodes: list[Json], cluster: Cluster) -> Scores:
    effect = "PreferNoSchedule"
    disliked = {
        name_of(node): sum(
            taint["effect"] == effect and not tolerates(pod, taint, (effect,))
            for taint in node.get("spec", {}).get("taints", ())
        )
        for node in nodes
    }
    return scaled(disliked, reverse=True)


def node_affinity(pod: Json, nodes: list[Json], cluster: Cluster) -> Scores:
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    liked = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ())
    return scaled(
        {
            name_of(node): sum(each["weight"] for each in liked if term_holds(each["preference"], node))
            for node in nodes
        }
    )


# Spreading


def pod_topology_spread(pod: Json, nodes: list[Json], cluster: Cluster) -> Scores:
    """The fewer matching pods in a node's domains, the better; a key with many domains weighs more."""
    constraints = spread_constraints(pod, "ScheduleAnyway")
    if not constraints:
        return {name_of(node): 0 for node in nodes}
    keys = {each["topologyKey"] for each in constraints}
    judged = [node for node in nodes if keys <= labels_of(node).keys()]
    raw: dict[str, float] = {name_of(node): 0.0 for node in judged}
    for constraint in constraints:
        key = constraint["topologyKey"]
        hosts = key == HOSTNAME
        domains = len(judged) if hosts else len({labels_of(node)[key] for node in judged})
        weight = math.log(domains + 2)
        counted = counted_nodes(pod, constraint, constraints, cluster)
        for node in judged:
            # With the key of hosts a node is its own domain, whatever the policies say of it.
            inside = [node] if hosts else [n for n in counted if labels_of(n)[key] == labels_of(node)[key]]
            pods = sum(matching_pods(pod, constraint, each, cluster) for each in inside)
            raw[name_of(node)] += pods * weight + (constraint["maxSkew"] - 1)
    rounded = {name: _round(value) for name, value in raw.items()}
    least, most = min(rounded.values(), default=0), max(rounded.values(), default=0)
    found = {name_of(node): 0 for node in nodes}
    for name, value in rounded.items():
        found[name] = 100 * (most + least - value) // most if most else 100
    return found


def _round(value: float) -> int:
    """Halves go up; values are never negative."""
    return math.floor(value + 0.5)


# Other pods


def inter_pod_affinity(pod: Json, nodes: list[Json], cluster: Cluster) -> Scores:
    raw = {name_of(node): _liking(pod, node, cluster) for node in nodes}
    least, most = min(raw.values(), default=0), max(raw.values(), default=0)
    if most == least:
        return dict.fromkeys(raw, 0)
    return {name: int(100.0 * (float(value - least) / float(most - least))) for name, value in raw.items()}


def _liking(pod: Json, node: Json, cluster: Cluster) -> int:
    """What the pod thinks of those in the node's domains, and what they think of it."""
    total = 0
    for other, where in cluster.placed:
        for sign, kind in ((1, "podAffinity"), (-1, "podAntiAffinity")):
            for carrier, seen in ((pod, other), (other, pod)):
                for each in pod_terms(carrier, kind, "preferred"):
                    term = each["podAffinityTerm"]
                    if together(term, node, where) and term_means(term, carrier, seen, cluster):
                        total += sign * each["weight"]
        for term in pod_terms(other, "podAffinity", "required"):
            if together(term, node, where) and term_means(term, other, pod, cluster):
                total += HARD_POD_AFFINITY_WEIGHT
    return total


Scoring = dict[str, tuple[int, Score]]  # by plugin: its weight, and how it scores

SCORES: Scoring = {
    "TaintToleration": (3, taint_toleration),
    "NodeAffinity": (2, node_affinity),
    "NodeResourcesFit": (1, least_allocated),
    "PodTopologySpread": (2, pod_topology_spread),
    "InterPodAffinity": (2, inter_pod_affinity),
    "NodeResourcesBalancedAllocation": (1, balanced_allocation),
}


class Best(NamedTuple):
    nodes: list[str]  # that share the highest total, by name
    score: int
    parts: dict[str, Scores]  # plugin -> feasible node -> 0..100, before its weight


def best(pod: Json, cluster: Cluster, plugins: Scoring = SCORES) -> Best:
    open_to_it = feasible(pod, cluster)
    nodes = [node for node in cluster.nodes if name_of(node) in open_to_it]
    parts = {plugin: score(pod, nodes, cluster) for plugin, (_, score) in plugins.items()}
    totals = {
        name_of(node): sum(plugins[plugin][0] * scores[name_of(node)] for plugin, scores in parts.items())
        for node in nodes
    }
    highest = max(totals.values(), default=0)
    return Best(sorted(name for name, total in totals.items() if total == highest), highest, parts)

"""Where a pod may go: each filter of the default profile as a function of one pod, one node and the cluster.

A filter answers with its reasons against the node; none means that it may go there. Written for being read next to the
Kubernetes documentation, with no thought of speed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.cluster import Cluster, leaving
from tests.oracle.labels import labels_of, selects, wants_node, with_keys
from tests.oracle.requests import allocatable, is_sidecar, requests

Json = dict[str, Any]
Filter = Callable[[Json, Json, Cluster], list[str]]

CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
KEEPS_OUT = ("NoSchedule", "NoExecute")
ANYWHERE = "0.0.0.0"

MISSING_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
SKEWED = "node(s) didn't match pod topology spread constraints"
NO_FRIENDS = "node(s) didn't match pod affinity rules"
ENEMIES = "node(s) didn't match pod anti-affinity rules"
ENEMY_OF_OTHERS = "node(s) didn't satisfy existing pods anti-affinity rules"


def node_unschedulable(pod: Json, node: Json, cluster: Cluster) -> list[str]:
    if node.get("spec", {}).get("unschedulable") and not tolerates(pod, CORDON):
        return ["node(s) were unschedulable"]
    return []


# Taints


def tolerates(pod: Json, taint: Json, effects: tuple[str, ...] = ()) -> bool:
    """`effects`: consider only tolerations of these (and those of every effect)."""
    return any(
        _tolerates(each, taint)
        for each in pod["spec"].get("tolerations", ())
        if not effects or not each.get("effect") or each["effect"] in effects
    )


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("value", "") == taint.get("value", ""))


def untolerated(pod: Json, node: Json) -> list[Json]:
    """The taints that keep the pod from the node."""
    taints = node.get("spec", {}).get("taints", ())
    return [each for each in taints if each["effect"] in KEEPS_OUT and not tolerates(pod, each)]


def taint_toleration(pod: Json, node: Json, cluster: Cluster) -> list[str]:
    return [
        f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
        for taint in untolerated(pod, node)[:1]
    ]


def node_affinity(pod: Json, node: Json, cluster: Cluster) -> list[str]:
    return [] if wants_node(pod, node) else ["node(s) didn't match Pod's node affinity/selector"]


# Ports


def host_ports(pod: Json) -> list[tuple[str, int, str]]:
    spec = pod["spec"]
    lasting = [*spec["containers"], *filter(is_sidecar, spec.get("initContainers", ()))]
    return [
        (port.get("protocol", "TCP"), port["hostPort"], port.get("hostIP") or ANYWHERE)
        for container in lasting
        for port in container.get("ports", ())
        if port.get("hostPort")
    ]


def node_ports(pod: Json, node: Json, cluster: Cluster) -> list[str]:
    taken = [port for other in cluster.on(node) for port in host_ports(other)]
    for protocol, number, address in host_ports(pod):
        for other_protocol, other_number, other_address in taken:
            same_address = address == other_address or ANYWHERE in (address, other_address)
            if (protocol, number) == (other_protocol, other_number) and same_address:
                return ["node(s) didn't have free ports for the requested pod ports"]
    return []


# Resources


def node_resources_fit(pod: Json, node: Json, cluster: Cluster) -> list[str]:
    there = cluster.on(node)
    reasons = ["Too many pods"] if len(there) + 1 > allocatable(node, "pods") else []
    for resource, wanted in requests(pod).items():
        used = sum(requests(other).get(resource, 0) for other in there)
        if wanted > 0 and used + wanted > allocatable(node, resource):
            reasons.append(f"Insufficient {resource}")
    return reasons


# Spreading


def spread_constraints(pod: Json, action: str) -> list[Json]:
    found = pod["spec"].get("topologySpreadConstraints", ())
    return [each for each in found if each["whenUnsatisfiable"] == action]


def spread_selector(constraint: Json, pod: Json) -> Json | None:
    return with_keys(
        constraint.get("labelSelector"), constraint.get("matchLabelKeys", []), [], labels_of(pod)
    )


def counted_nodes(pod: Json, constraint: Json, beside: list[Json], cluster: Cluster) -> list[Json]:
    """The nodes whose domains and pods a constraint counts: those with the keys of all constraints of its kind
    (`beside`), and those that its inclusion policies let in."""
    keys = {each["topologyKey"] for each in beside}
    return [
        node
        for node in cluster.nodes
        if keys <= labels_of(node).keys()
        and (constraint.get("nodeAffinityPolicy", "Honor") == "Ignore" or wants_node(pod, node))
        and (constraint.get("nodeTaintsPolicy", "Ignore") == "Ignore" or not untolerated(pod, node))
    ]


def matching_pods(pod: Json, constraint: Json, node: Json, cluster: Cluster) -> int:
    """Pods of the same namespace that the constraint selects; those that are being deleted no longer count."""
    selector = spread_selector(constraint, pod)
    return sum(
        selects(selector, labels_of(other))
        for other in cluster.on(node)
        if other["metadata"]["namespace"] == pod["metadata"]["namespace"] and not leaving(other)
    )


def pod_topology_spread(pod: Json, node: Json, cluster: Cluster) -> list[str]:
    constraints = spread_constraints(pod, "DoNotSchedule")
    for constraint in constraints:
        key = constraint["topologyKey"]
        if key not in labels_of(node):
            return [MISSING_LABEL]
        domains: dict[str, int] = {}
        for other in counted_nodes(pod, constraint, constraints, cluster):
            domain = labels_of(other)[key]
            domains[domain] = domains.get(domain, 0) + matching_pods(pod, constraint, other, cluster)
        if not domains:
            continue
        least = min(domains.values()) if len(domains) >= constraint.get("minDomains", 1) else 0
        itself = selects(spread_selector(constraint, pod), labels_of(pod))
        if domains.get(labels_of(node)[key], 0) + itself - least > constraint["maxSkew"]:
            return [SKEWED]
    return []


# Other pods


def pod_terms(pod: Json, kind: str, strength: str) -> list[Json]:
    """kind: podAffinity or podAntiAffinity; strength: required or preferred."""
    affinity = pod["spec"].get("affinity", {}).get(kind, {})
    found: list[Json] = affinity.get(f"{strength}DuringSchedulingIgnoredDuringExecution", [])
    return found


def term_means(term: Json, carrier: Json, other: Json, cluster: Cluster) -> bool:
    """Whether a term of the pod `carrier` is about the pod `other`."""
    named, chosen = term.get("namespaces", []), term.get("namespaceSelector")
    namespace = other["metadata"]["namespace"]
    if not named and chosen is None:
        named = [carrier["metadata"]["namespace"]]
    if namespace not in named and not selects(chosen, cluster.namespace_labels(namespace)):
        return False
    selector = with_keys(
        term.get("labelSelector"),
        term.get("matchLabelKeys", []),
        term.get("mismatchLabelKeys", []),
        labels_of(carrier),
    )
    return selects(selector, labels_of(other))


def together(term: Json, node: Json, other: Json) -> bool:
    """Whether two nodes are in one domain of the term's key."""
    key = term["topologyKey"]
    return key in labels_of(node) and labels_of(node)[key] == labels_of(other).get(key)


def inter_pod_affinity(pod: Json, node: Json, cluster: Cluster) -> list[str]:
    placed = cluster.placed
    wanted = pod_terms(pod, "podAffinity", "required")
    friends = [
        where for other, where in placed if all(term_means(term, pod, other, cluster) for term in wanted)
    ]
    if any(term["topologyKey"] not in labels_of(node) for term in wanted):
        return [NO_FRIENDS]
    if not all(any(together(term, node, where) for where in friends) for term in wanted):
        # The first of a group that wants to be together may go anywhere, or none of them ever could.
        alone = not any(term["topologyKey"] in labels_of(where) for term in wanted for where in friends)
        if not alone or not all(term_means(term, pod, pod, cluster) for term in wanted):
            return [NO_FRIENDS]
    for term in pod_terms(pod, "podAntiAffinity", "required"):
        if any(
            together(term, node, where) and term_means(term, pod, other, cluster) for other, where in placed
        ):
            return [ENEMIES]
    for other, where in placed:
        for term in pod_terms(other, "podAntiAffinity", "required"):
            if together(term, node, where) and term_means(term, other, pod, cluster):
                return [ENEMY_OF_OTHERS]
    return []


FILTERS: dict[str, Filter] = {
    "NodeUnschedulable": node_unschedulable,
    "TaintToleration": taint_toleration,
    "NodeAffinity": node_affinity,
    "NodePorts": node_ports,
    "NodeResourcesFit": node_resources_fit,
    "PodTopologySpread": pod_topology_spread,
    "InterPodAffinity": inter_pod_affinity,
}


def refusal(pod: Json, node: Json, cluster: Cluster) -> tuple[str, list[str]] | None:
    """(plugin, its reasons) of the first filter that refuses the node."""
    for plugin, judge in FILTERS.items():
        reasons = judge(pod, node, cluster)
        if reasons:
            return plugin, reasons
    return None


def feasible(pod: Json, cluster: Cluster) -> set[str]:
    return {node["metadata"]["name"] for node in cluster.nodes if refusal(pod, node, cluster) is None}


def refusals(pod: Json, cluster: Cluster) -> dict[tuple[str, str], int]:
    """(plugin, reason) -> nodes: each node counted by the first filter that refuses it, for all its reasons."""
    found: dict[tuple[str, str], int] = {}
    for node in cluster.nodes:
        plugin, reasons = refusal(pod, node, cluster) or ("", [])
        for reason in reasons:
            found[plugin, reason] = found.get((plugin, reason), 0) + 1
    return found

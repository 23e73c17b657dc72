"""Which pods a node may run, as facts about one pod and one node: taints, selectors, affinity, requests, room.

Pure predicates on views, shared by `first_fit.py` and `daemonset.py`. What they have in common with the real
scheduler (issue C) is Kubernetes' meaning of the fields, not speed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from fairlead.core import quantity
from fairlead.model.selectors import Requirement, label_selector
from fairlead.model.views import Json, Node, PodSpec, Toleration

REPELLING = frozenset({"NoSchedule", "NoExecute"})
NOT_READY: Json = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
UNSCHEDULABLE: Json = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": ">", "Lt": "<"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PODS_MAX = 110  # what a node without an allocatable number of pods takes


class Amounts(NamedTuple):
    """Cpu in thousandths, memory in bytes, pods in pods."""

    cpu: int
    memory: int
    pods: int

    def plus(self, other: Amounts) -> Amounts:
        return Amounts(self.cpu + other.cpu, self.memory + other.memory, self.pods + other.pods)

    def minus(self, other: Amounts) -> Amounts:
        return Amounts(self.cpu - other.cpu, self.memory - other.memory, self.pods - other.pods)

    def within(self, room: Amounts) -> bool:
        """Nothing requested of a resource always fits, even where that resource is overdrawn."""
        return (
            (not self.cpu or self.cpu <= room.cpu)
            and (not self.memory or self.memory <= room.memory)
            and self.pods <= room.pods
        )


NOTHING_USED = Amounts(0, 0, 0)


def tolerates(toleration: Toleration, taint: Json) -> bool:
    """Whether one toleration covers one taint. An empty effect or key covers all of them."""
    if toleration.effect and toleration.effect != taint.get("effect"):
        return False
    if toleration.key and toleration.key != taint.get("key"):
        return False
    if toleration.operator == "Exists":
        return True
    # Only Exists may come without a key.
    return bool(toleration.key) and toleration.value == (taint.get("value") or "")


def repelled(taints: Iterable[Json], tolerations: Iterable[Toleration]) -> bool:
    """Whether a taint keeps pods with these tolerations away."""
    return any(
        taint.get("effect") in REPELLING and not any(tolerates(each, taint) for each in tolerations)
        for taint in taints
    )


def selected(spec: PodSpec, node: Node) -> bool:
    """Whether a pod wants this node, by its selector and what its node affinity requires."""
    labels = node.metadata.labels
    if not all(labels.get(key) == value for key, value in spec.node_selector.items()):
        return False
    required = (spec.affinity.get("nodeAffinity") or {}).get(_REQUIRED) if spec.affinity else None
    if required is None:
        return True
    return any(_meets(term, node) for term in required.get("nodeSelectorTerms") or ())


def _meets(term: Json, node: Node) -> bool:
    """All of one term. A term without conditions is met by no node."""
    labels, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    return (
        bool(labels or fields)
        and _all_hold(labels, node.metadata.labels)
        and _all_hold(fields, {"metadata.name": node.metadata.name})
    )


def _all_hold(conditions: Iterable[Json], facts: Mapping[str, str]) -> bool:
    return label_selector(
        Requirement(each["key"], _OPERATORS[each["operator"]], tuple(sorted(each.get("values") or ())))
        for each in conditions
    ).matches(facts)


def pinned(spec: PodSpec) -> str:
    """The node that a pod of a DaemonSet is made for: the one its affinity names, and no other; "" if there is none."""
    if not spec.affinity:
        return ""
    required = (spec.affinity.get("nodeAffinity") or {}).get(_REQUIRED) or {}
    terms: list[Json] = required.get("nodeSelectorTerms") or []
    fields: list[Json] = terms[0].get("matchFields") or [] if len(terms) == 1 else []
    if len(fields) != 1 or fields[0].get("operator") != "In":
        return ""
    names: list[str] = fields[0].get("values") or []
    return names[0] if len(names) == 1 else ""


def aimed_at(nodes: Sequence[Node], spec: PodSpec) -> Sequence[Node]:
    """Of nodes in the order of their names, those worth a look for this pod."""
    name = pinned(spec)
    if not name:
        return nodes
    at = bisect_left(nodes, name, key=lambda node: node.metadata.name)
    return nodes[at : at + 1]


def pinned_to(affinity: Json | None, node: str) -> Json:
    """An affinity that requires this node, in place of whatever nodes it required."""
    affinity = affinity or {}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {**affinity, "nodeAffinity": {**(affinity.get("nodeAffinity") or {}), _REQUIRED: required}}


def open_to(node: Node, spec: PodSpec) -> bool:
    """Ready and not cordoned, or borne by the pod for good; not repelling, and selected; says nothing of room."""
    return (
        not node.metadata.deletion_timestamp
        and (node.ready or _bears(spec, NOT_READY))
        and (not node.spec.unschedulable or _bears(spec, UNSCHEDULABLE))
        and selected(spec, node)
        and not repelled(node.spec.taints, spec.tolerations)
    )


def _bears(spec: PodSpec, taint: Json) -> bool:
    """Not only for a time, as all pods bear a node that is not ready."""
    return any(each.toleration_seconds is None and tolerates(each, taint) for each in spec.tolerations)


def requested(spec: PodSpec) -> Amounts:
    """What a pod needs: its containers together, or its largest init container if that is more."""
    cpu = memory = 0
    for container in spec.containers:
        each = _amounts(container.resources.requests)
        cpu, memory = cpu + each.cpu, memory + each.memory
    for container in spec.init_containers:
        each = _amounts(container.resources.requests)
        cpu, memory = max(cpu, each.cpu), max(memory, each.memory)
    return Amounts(cpu, memory, 1)


def allocatable(node: Node) -> Amounts:
    offered = node.status.allocatable
    room = _amounts(offered)
    pods = offered.get("pods")
    return room._replace(pods=_PODS_MAX if pods is None else quantity.from_json(pods).value())


def _amounts(resources: Mapping[str, Any]) -> Amounts:
    return _amounts_of(resources.get("cpu"), resources.get("memory"))


@lru_cache(maxsize=4096)
def _amounts_of(cpu: str | float | None, memory: str | float | None) -> Amounts:
    return Amounts(
        quantity.from_json(cpu).milli() if cpu is not None else 0,
        quantity.from_json(memory).value() if memory is not None else 0,
        0,
    )

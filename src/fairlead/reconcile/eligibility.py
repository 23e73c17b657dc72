"""Which pods a node may run, as facts about one pod and one node: taints, selectors, requests, room.

Pure predicates on views, shared by `first_fit.py` and `daemonset.py`. What they have in common with the real
scheduler (issue C) is Kubernetes' meaning of the fields, not speed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fairlead.core import quantity
from fairlead.model.views import Json, Node, PodSpec, Toleration

REPELLING = frozenset({"NoSchedule", "NoExecute"})
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


def selected(node_selector: dict[str, str], node: Node) -> bool:
    labels = node.metadata.labels
    return all(labels.get(key) == value for key, value in node_selector.items())


def open_to(node: Node, spec: PodSpec) -> bool:
    """Ready, not cordoned, not repelling, and selected; says nothing of room."""
    return (
        node.ready
        and not node.spec.unschedulable
        and not node.metadata.deletion_timestamp
        and selected(spec.node_selector, node)
        and not repelled(node.spec.taints, spec.tolerations)
    )


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
    cpu, memory = resources.get("cpu"), resources.get("memory")
    return Amounts(
        quantity.from_json(cpu).milli() if cpu is not None else 0,
        quantity.from_json(memory).value() if memory is not None else 0,
        0,
    )

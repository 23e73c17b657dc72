"""A cluster as plain objects: lists of Nodes, Pods, Namespaces and so on. What it means to be placed is said here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Cluster:
    nodes: list[Json]
    pods: list[Json] = field(default_factory=list)
    namespaces: list[Json] = field(default_factory=list)
    priority_classes: list[Json] = field(default_factory=list)
    budgets: list[Json] = field(default_factory=list)

    def node(self, name: str) -> Json | None:
        return next((each for each in self.nodes if each["metadata"]["name"] == name), None)

    @cached_property
    def placed(self) -> list[tuple[Json, Json]]:
        """(pod, its node) of all pods that take room: bound, not finished; those that are being deleted too."""
        nodes = {each["metadata"]["name"]: each for each in self.nodes}
        return [
            (pod, nodes[pod["spec"]["nodeName"]])
            for pod in self.pods
            if pod["spec"].get("nodeName") in nodes and not finished(pod)
        ]

    def on(self, node: Json) -> list[Json]:
        return [pod for pod, where in self.placed if where is node]

    def with_pod(self, pod: Json, node: str) -> Cluster:
        """The cluster after the pod has been put there."""
        bound = {**pod, "spec": {**pod["spec"], "nodeName": node}}
        return replace(self, pods=[*self.pods, bound])

    def without(self, gone: list[Json]) -> Cluster:
        return replace(self, pods=[pod for pod in self.pods if not any(pod is each for each in gone)])

    def namespace_labels(self, name: str) -> dict[str, str]:
        for each in self.namespaces:
            if each["metadata"]["name"] == name:
                found: dict[str, str] = each["metadata"].get("labels", {})
                return found
        return {}


def finished(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def leaving(pod: Json) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def priority(pod: Json, cluster: Cluster) -> int:
    """As admission leaves it in the spec; else of the class named, else of the class that is the default, else 0."""
    if "priority" in pod["spec"]:
        return int(pod["spec"]["priority"])
    wanted = pod["spec"].get("priorityClassName")
    for each in cluster.priority_classes:
        if each["metadata"]["name"] == wanted or (not wanted and each.get("globalDefault")):
            return int(each["value"])
    return 0

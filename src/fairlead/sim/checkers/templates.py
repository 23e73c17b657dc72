"""At rest what a workload's template says has reached its pods: image, requests, labels, annotations and more.

Judged by content, field by field, and not by the hashes and labels that controllers go by. Of Deployments, StatefulSets
and DaemonSets, each live pod; but not where people asked for something else: a Deployment that is paused, the strategy
OnDelete, ordinals below a partition; nor where a rollout waits for a pod that is not ready, or for a pod or a set of
them that a quota or the want of a class refuses, as whoever makes it says in a condition; nor where it was late and
says that it goes no further, by the row of an EvidencePolicy, until somebody acts. ReplicaSets and Jobs promise nothing
of the kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.model.reasons import LATE, WAITING_FOR
from fairlead.model.views import DAEMONSETS, DEPLOYMENTS, PODS, REPLICASETS, STATEFULSETS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

Json = dict[str, Any]


class TemplatesReachPods:
    name = "templates-reach-pods"
    sees: frozenset[str] = frozenset()

    def saw(self, sight: SeenChange) -> None:
        """On the way pods of several templates are there."""

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        pods: dict[str, list[Any]] = {}  # uid of the controller -> live pods
        for pod in objects.of(PODS.name).values():
            if pod.live and pod.metadata.controller is not None:
                pods.setdefault(pod.metadata.controller.uid, []).append(pod)
        for kind, workload, mine in _rolled(objects, pods):
            for pod in mine if all(each.ready for each in mine) else ():
                told = differing(workload.spec.template, pod)
                if told:
                    name = workload.metadata.name
                    raise Violation(self.name, f"pod {pod.metadata.name} of {kind} {name} has {told}")


def _rolled(objects: CommittedObjects, pods: dict[str, list[Any]]) -> Iterator[tuple[str, Any, list[Any]]]:
    """Workloads whose pods are to be of the template, with those pods."""
    sets: dict[str, list[Any]] = {}  # by uid of their Deployment
    for each in objects.of(REPLICASETS.name).values():
        if each.metadata.controller is not None:
            sets.setdefault(each.metadata.controller.uid, []).append(each)
    for found in objects.of(DEPLOYMENTS.name).values():
        its = sets.get(found.metadata.uid, ())
        if not (found.spec.paused or _is_held(found) or any(map(_is_refused, (found, *its)))):
            yield DEPLOYMENTS.kind, found, [pod for each in its for pod in pods.get(each.metadata.uid, ())]
    for found in objects.of(STATEFULSETS.name).values():
        rolling = _rolling(found)
        if rolling is not None and not _is_refused(found):
            least = int(rolling.get("partition") or 0) + int(found.spec.ordinals.get("start") or 0)
            mine = pods.get(found.metadata.uid, ())
            yield STATEFULSETS.kind, found, [pod for pod in mine if ordinal_of(pod) >= least]
    for found in objects.of(DAEMONSETS.name).values():
        if _rolling(found) is not None and not _is_refused(found):
            yield DAEMONSETS.kind, found, pods.get(found.metadata.uid, [])


def _is_refused(maker: Any) -> bool:
    """Whether pods, or the set for them, that it asks for are refused until another object changes."""
    return any(each.type == WAITING_FOR and each.status == "True" for each in maker.status.conditions)


def _is_held(deployment: Any) -> bool:
    told = (each.message for each in deployment.status.conditions if each.reason == LATE)
    return any("(EvidencePolicy/" in message for message in told)


def _rolling(workload: Any) -> Json | None:
    strategy = workload.spec.update_strategy
    return None if strategy.get("type") == "OnDelete" else strategy.get("rollingUpdate") or {}


def ordinal_of(pod: Any) -> int:
    return int(pod.metadata.name.rpartition("-")[2])


def differing(template: Json, pod: Any) -> str:
    """The first thing that a template sets and a pod has otherwise, in words; "" if there is none."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    for what, wanted, found in (
        ("label", meta.get("labels") or {}, pod.metadata.labels),
        ("annotation", meta.get("annotations") or {}, pod.metadata.annotations),
        ("node selector", spec.get("nodeSelector") or {}, pod.spec.node_selector),
    ):
        for name, value in wanted.items():
            if found.get(name) != value:
                return f"{what} {name} {found.get(name)} instead of {value}"
    if spec.get("priorityClassName", pod.spec.priority_class_name) != pod.spec.priority_class_name:
        return f"priority class {pod.spec.priority_class_name}"
    for field, containers in (
        ("containers", pod.spec.containers),
        ("initContainers", pod.spec.init_containers),
    ):
        told = _differing_containers(spec.get(field) or [], containers)
        if told:
            return told
    return ""


def _differing_containers(wanted: list[Json], found: tuple[Any, ...]) -> str:
    if [each["name"] for each in wanted] != [each.name for each in found]:
        return f"containers {[each.name for each in found]}"
    for each, container in zip(wanted, found, strict=True):
        if each.get("image", "") != container.image:
            return f"image {container.image} instead of {each.get('image')}"
        needs = each.get("resources") or {}
        for field, has in (
            ("requests", container.resources.requests),
            ("limits", container.resources.limits),
        ):
            for name, value in (needs.get(field) or {}).items():
                if has.get(name) != value:
                    return f"{field} of {name} {has.get(name)} instead of {value}"
    return ""

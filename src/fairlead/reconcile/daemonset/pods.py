"""The pods of a DaemonSet, node by node: where one should be, which is the one, what a new one is made of.

Called by `decider.py`; pure. A pod is made for its node by a node affinity that names it, and bound by the scheduler
like any other; until then it counts as being there. A cordoned or unready node gets one too, since the tolerations
Kubernetes gives to such pods are given here. Which nodes: those that nodeName, nodeSelector and the required node
affinity of the template allow, and whose taints it bears.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from fairlead.model.views import DAEMONSETS, DaemonSet, Json, Node, Pod, PodSpec
from fairlead.reconcile.children import available_at, from_template
from fairlead.reconcile.daemonset.eligibility import is_selected, pinned_node, pinned_to, tolerates
from fairlead.reconcile.revisions import REVISION_LABEL

_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_ON_HOST_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")


class Place(NamedTuple):
    """One node, or the name of one that is gone, and this set's pods there. `chosen` and `others` by seniority."""

    node: str
    should_run: bool  # one is made if there is none
    may_stay: bool  # one that is there is left there
    chosen: Pod | None  # the pod that counts
    others: tuple[Pod, ...]  # live pods that are one too many
    leaving: tuple[Pod, ...]  # on their way out, or released: nobody knows yet whether they run
    ended: tuple[Pod, ...]

    @property
    def is_empty(self) -> bool:
        return self.chosen is None and not self.leaving and not self.ended


class Template(NamedTuple):
    """What new pods look like, and what they are ready to bear."""

    spec: PodSpec
    tolerations: list[Json]
    revision: str  # the hash in the revision's labels, and in its pods'


def template_of(found: DaemonSet, revision: str) -> Template:
    spec: Json = found.spec.template.get("spec") or {}
    keys = (*_TOLERATED, _ON_HOST_NETWORK) if spec.get("hostNetwork") else _TOLERATED
    tolerations = [
        *(spec.get("tolerations") or ()),
        *({"key": key, "operator": "Exists", "effect": effect} for key, effect in keys),
    ]
    view = msgspec.convert({**spec, "tolerations": tolerations}, PodSpec, strict=False)
    return Template(view, tolerations, revision)


def places_of(template: Template, nodes: Iterable[Node], pods: Iterable[Pod]) -> list[Place]:
    """Every node and every pod's node, by name."""
    on: dict[str, list[Pod]] = {}
    for pod in pods:
        on.setdefault(pod.spec.node_name or pinned_node(pod.spec), []).append(pod)
    places = []
    known = {node.metadata.name: node for node in nodes}
    for name in sorted(known.keys() | on.keys()):
        should_run, may_stay = _rights(template.spec, known[name]) if name in known else (False, False)
        places.append(_place(name, should_run, may_stay, on.get(name, ())))
    return places


def _place(name: str, should_run: bool, may_stay: bool, pods: Iterable[Pod]) -> Place:
    # The oldest ready pod is the one that counts; if none is ready, the oldest.
    live = sorted((pod for pod in pods if pod.live), key=_seniority)
    return Place(
        node=name,
        should_run=should_run,
        may_stay=may_stay,
        chosen=live[0] if live else None,
        others=tuple(live[1:]),
        leaving=tuple(
            pod for pod in pods if pod.metadata.deletion_timestamp or (pod.released and not pod.finished)
        ),
        ended=tuple(pod for pod in pods if pod.finished and not pod.metadata.deletion_timestamp),
    )


def _seniority(pod: Pod) -> tuple[bool, str, str]:
    return not pod.ready, pod.metadata.creation_timestamp, pod.metadata.name


def _rights(spec: PodSpec, node: Node) -> tuple[bool, bool]:
    """(one should run here, one may stay here). A taint that only keeps new pods away drives none out."""
    if node.metadata.deletion_timestamp or not is_selected(spec, node):
        return False, False
    if spec.node_name and spec.node_name != node.metadata.name:
        return False, False
    effects = {
        taint.get("effect")
        for taint in node.spec.taints
        if not any(tolerates(each, taint) for each in spec.tolerations)
    }
    stays = "NoExecute" not in effects
    return stays and "NoSchedule" not in effects, stays


def is_available(found: DaemonSet, pod: Pod, now: float) -> bool:
    at = available_at(pod, found.spec.min_ready_seconds)
    return at is not None and at <= now


def pod_body(found: DaemonSet, template: Template, node: str, name: str) -> Json:
    body = from_template(found.spec.template, DAEMONSETS, found.metadata, name)
    metadata, spec = body["metadata"], body["spec"]
    metadata["labels"] = {**metadata["labels"], REVISION_LABEL: template.revision}
    affinity = pinned_to(spec.get("affinity"), node)
    return {**body, "spec": {**spec, "affinity": affinity, "tolerations": template.tolerations}}

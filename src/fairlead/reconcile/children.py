"""What owners of pods share: children made from a template, claims, availability, and which pod goes first.

Used by the Deciders of ReplicaSet, Deployment and their like. Claims follow Kubernetes: an owner keeps the children
that name it as controller and match its selector, adopts those that match and have no controller, and releases its
own that match no more; each by a change bound to the uid and revision that was looked at. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from fairlead.core import ids
from fairlead.core.times import parse_time
from fairlead.decision.contract import Reading
from fairlead.decision.effects import Change, Json
from fairlead.decision.ensure import ensure_fields
from fairlead.model.selectors import from_object
from fairlead.model.views import Anything, Meta, Pod, Resource
from fairlead.reconcile.ownership import as_reference

# Views with metadata, which is all that claiming looks at.
C = TypeVar("C", bound=Any)

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1}


class Claimed(NamedTuple, Generic[C]):
    mine: tuple[C, ...]  # in name order
    effects: tuple[Change, ...]


class Readiness(NamedTuple):
    ready: int
    available: int
    again_at: float  # when the next ready pod will have been ready for long enough; 0 if none waits for that


def controller_reference(resource: Resource[Any], owner: Meta) -> Json:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def child_name(owner: Meta, *occasion: str) -> str:
    """A name that follows from the owner's uid and the occasion, and nothing else."""
    return ids.generated_name(f"{owner.name}-", "/".join((owner.uid, *occasion)).encode())


def from_template(template: Json, owner_resource: Resource[Any], owner: Meta, name: str) -> Json:
    """A pod's body. What the template holds is shared and must not be changed."""
    labelled = template.get("metadata") or {}
    metadata: Json = {
        "name": name,
        "labels": labelled.get("labels") or {},
        "annotations": labelled.get("annotations") or {},
        "ownerReferences": [controller_reference(owner_resource, owner)],
    }
    if labelled.get("finalizers"):
        metadata["finalizers"] = labelled["finalizers"]
    return {"metadata": metadata, "spec": template.get("spec") or {}}


def is_controlled_by(child: Any, owner: Meta) -> bool:
    controller = child.metadata.controller
    return controller is not None and controller.uid == owner.uid


def claim(
    view: Reading,
    controller: str,
    owner_resource: Resource[Any],
    owner: Meta,
    selector: Json,
    resource: Resource[C],
) -> Claimed[C]:
    """The owner's children, and what is to be changed before they are right. Whoever is being deleted claims and
    releases nothing any more."""
    compiled = from_object(selector)
    matches = compiled.matches
    mine, effects = [], []
    for child in view.owned(resource, owner.uid, owner.namespace):
        meta: Meta = child.metadata
        if not is_controlled_by(child, owner):
            continue
        if owner.deletion_timestamp or matches(meta.labels):
            mine.append(child)
        elif not meta.deletion_timestamp:
            kept = [as_reference(each) for each in meta.owner_references if each.uid != owner.uid]
            effects.append(_own(controller, owner, resource, child, "release", kept or None))
    if not owner.deletion_timestamp:
        for child in view.select(resource, owner.namespace, compiled):
            meta = child.metadata
            if meta.controller is None and not meta.deletion_timestamp:
                owners = [as_reference(each) for each in meta.owner_references if each.uid != owner.uid]
                owners.append(controller_reference(owner_resource, owner))
                effects.append(_own(controller, owner, resource, child, "adopt", owners))
    return Claimed(tuple(mine), tuple(effects))


def _own(
    controller: str, owner: Meta, resource: Resource[Any], child: Anything, intent: str, references: Any
) -> Change:
    current = [as_reference(each) for each in child.metadata.owner_references]
    change = ensure_fields(
        controller, owner, resource, child, intent,
        {"metadata": {"ownerReferences": current}},
        {"metadata": {"ownerReferences": references}},
    )  # fmt: skip
    assert change is not None  # claims and releases always change the references
    return change


def available_at(pod: Pod, min_ready_seconds: int) -> float | None:
    """When a ready pod counts as available; None if it is not ready, or nobody knows since when."""
    if not pod.ready:
        return None
    if min_ready_seconds <= 0:
        return 0.0
    since = pod.ready_since
    return parse_time(since) + min_ready_seconds if since else None


def readiness(pods: Iterable[Pod], min_ready_seconds: int, now: float) -> Readiness:
    ready = available = 0
    again_at = 0.0
    for pod in pods:
        if not pod.ready:
            continue
        ready += 1
        at = available_at(pod, min_ready_seconds)
        if at is None:
            continue
        if at <= now:
            available += 1
        elif not again_at or at < again_at:
            again_at = at
    return Readiness(ready, available, again_at)


def deletion_order(
    pods: Iterable[Pod],
    min_ready_seconds: int,
    now: float,
    is_lost: Callable[[Pod], bool] = lambda pod: False,
) -> list[Pod]:
    """Who goes first: not bound, not running, not ready or where nobody hears of it (`is_lost`), not yet available,
    cheaper by annotation, sharing its node with more of the same, ready for a shorter time, newer; then by name."""
    pods = tuple(pods)
    together: dict[str, int] = {}
    for pod in pods:
        together[pod.spec.node_name] = together.get(pod.spec.node_name, 0) + 1

    def rank(pod: Pod) -> tuple[Any, ...]:
        node, meta = pod.spec.node_name, pod.metadata
        at = available_at(pod, min_ready_seconds)
        return (
            bool(node),
            _PHASES.get(pod.status.phase, 2),
            pod.ready and not is_lost(pod),
            at is not None and at <= now,
            _cost(meta.annotations),
            -together[node] if node else 0,
            _Later(pod.ready_since),
            _Later(meta.creation_timestamp),
            meta.name,
        )

    return sorted(pods, key=rank)


def _cost(annotations: Mapping[str, str]) -> int:
    text = annotations.get(DELETION_COST, "")
    digits = text[1:] if text[:1] in "+-" else text
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else 0


class _Later(str):
    """A time that sorts before the times that it is later than. RFC 3339 in UTC sorts as text."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)

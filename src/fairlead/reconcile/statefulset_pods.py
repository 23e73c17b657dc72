"""The pods of a StatefulSet: which ordinals there should be, which template each is made from, how each is doing.

Called by `statefulset.py`; pure. The template that pods below the partition are made from is no longer in the spec
once a new one was written there: it is in the revision that `status.currentRevision` names (`revisions.py`). If that
revision is gone, the spec's template is the current one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairlead.model.views import STATEFULSETS, ControllerRevision, Json, Pod, StatefulSet
from fairlead.reconcile.children import available_at, from_template
from fairlead.reconcile.deployment.rollout import resolve_amount
from fairlead.reconcile.revisions import REVISION_LABEL, template_in

_POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
_INDEX_LABEL = "apps.kubernetes.io/pod-index"


class Revisions(NamedTuple):
    current: str
    update: str
    current_template: Json
    update_template: Json


class Ranks(NamedTuple):
    """A set's pods by ordinal."""

    wanted: range  # the ordinals that should be there
    members: dict[int, Pod]  # of those, the pods that are there
    condemned: list[Pod]  # pods of other ordinals, highest first


def revisions_of(
    found: StatefulSet, revisions: Iterable[ControllerRevision], update: ControllerRevision
) -> Revisions:
    named = {each.metadata.name: each for each in revisions}
    current = named.get(found.status.current_revision, update)
    return Revisions(current.metadata.name, update.metadata.name, template_in(current), template_in(update))


def ordinal_of(found: StatefulSet, pod_name: str) -> int:
    """The ordinal in a pod's name; -1 if it is not the name of one of this set's pods."""
    prefix, _, text = pod_name.rpartition("-")
    if prefix != found.metadata.name or not (text.isascii() and text.isdigit()) or len(text) > 9:
        return -1
    return int(text) if str(int(text)) == text else -1


def ranks_of(found: StatefulSet, pods: Iterable[Pod]) -> Ranks:
    start = int(found.spec.ordinals.get("start") or 0)
    wanted = range(start, start + found.spec.replicas)
    members: dict[int, Pod] = {}
    condemned: dict[int, Pod] = {}
    for pod in pods:
        ordinal = ordinal_of(found, pod.metadata.name)
        if ordinal >= 0:
            (members if ordinal in wanted else condemned)[ordinal] = pod
    return Ranks(wanted, members, [condemned[ordinal] for ordinal in sorted(condemned, reverse=True)])


def partition_of(found: StatefulSet) -> int:
    return int((found.spec.update_strategy.get("rollingUpdate") or {}).get("partition") or 0)


def unavailable_max(found: StatefulSet) -> int | None:
    """How many pods may be missing during an update; None if that is not said, which means one."""
    said = (found.spec.update_strategy.get("rollingUpdate") or {}).get("maxUnavailable")
    return None if said is None else max(1, resolve_amount(said, found.spec.replicas, up=False))


def is_rolling(found: StatefulSet) -> bool:
    return (found.spec.update_strategy.get("type") or "RollingUpdate") == "RollingUpdate"


def is_healthy(found: StatefulSet, pod: Pod, now: float) -> bool:
    """Running, ready for long enough, and not on its way out: its successor's turn may come."""
    at = available_at(pod, found.spec.min_ready_seconds)
    return pod.live and pod.status.phase == "Running" and at is not None and at <= now


def pod_body(found: StatefulSet, ordinal: int, revisions: Revisions) -> Json:
    """The pod of this ordinal. Below the partition it is made as it was before the update."""
    start = int(found.spec.ordinals.get("start") or 0)
    is_old = is_rolling(found) and ordinal < start + partition_of(found)
    template = revisions.current_template if is_old else revisions.update_template
    revision = revisions.current if is_old else revisions.update
    name = f"{found.metadata.name}-{ordinal}"
    body = from_template(template, STATEFULSETS, found.metadata, name)
    metadata = body["metadata"]
    metadata["labels"] = {
        **metadata["labels"],
        REVISION_LABEL: revision,
        _POD_NAME_LABEL: name,
        _INDEX_LABEL: str(ordinal),
    }
    spec = {**body["spec"], "hostname": name}
    if found.spec.service_name:
        spec["subdomain"] = found.spec.service_name
    return {**body, "spec": spec}

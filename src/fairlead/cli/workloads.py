"""A workload at one moment, with its pods and what holds them up. Used by `progress` and `explain`.

Workload and pods are read, and told as the plane tells it in `status.progress`, by the same function
(`reconcile/progress.py`): the sum and the pods are always of the same moment, which what the plane wrote a moment ago
is not. Users who may not read pods see what the plane wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from fairlead.cli.client import ApiClient
from fairlead.cli.objects import NamedObject, exists, not_found, resolve_object, split_typed
from fairlead.cli.output import cell
from fairlead.core.errors import ApiError, UsageError
from fairlead.model.service_views import EndpointSlice, Service
from fairlead.model.views import DaemonSet, Deployment, Job, Pod, StatefulSet
from fairlead.reconcile.progress import Workload, selects, served_by, told_of

_TYPES: dict[str, type[Workload]] = {
    "deployments.apps": Deployment,
    "statefulsets.apps": StatefulSet,
    "daemonsets.apps": DaemonSet,
    "jobs.batch": Job,
}
_KINDS = tuple(_TYPES)
_ANY = "workload"

Json = dict[str, Any]


class WorkloadSight(NamedTuple):
    """A workload at one moment. `behind`: so many changes of it its controller has not seen yet."""

    told: Json
    pods: Sequence[Pod] = ()  # those that are not on their way out
    served: frozenset[str] | None = None
    behind: int = 0


def observe(client: ApiClient, workload: NamedObject) -> WorkloadSight:
    obj = client.get(workload.path)
    observed = (obj.get("status") or {}).get("observedGeneration")
    behind = 0 if observed is None else (obj.get("metadata") or {}).get("generation", 0) - observed
    view = msgspec.convert(obj, _TYPES[f"{workload.resource.plural}.{workload.resource.group}"])
    try:
        pods = _pods(client, workload.namespace, view)
        served = None if isinstance(view, Job) else _served(client, view)
    except ApiError:
        return WorkloadSight(read_progress(obj), behind=behind)
    shown = [pod for pod in pods if not pod.metadata.deletion_timestamp]
    return WorkloadSight(told_of(view, pods, served), shown, served, behind)


def find(client: ApiClient, typed: str, namespace: str | None) -> NamedObject:
    """`workload/NAME` is the first kind that has an object of that name."""
    words = split_typed(typed, namespace)
    whole = f"{words.namespace}/{words.name}" if words.namespace else words.name
    any_kind = _is_any(words.kind)
    kinds = _KINDS if any_kind else (words.kind,)
    if not words.name:
        raise _none(typed)
    wanted = [resolve_object(client, f"{each}/{whole}", None) for each in kinds]
    if any(f"{each.resource.plural}.{each.resource.group}" not in _KINDS for each in wanted):
        raise _none(typed)
    for each in wanted:
        if exists(client, each):
            return each
    raise not_found(client, wanted, _ANY if any_kind else "")


def _none(typed: str) -> UsageError:
    names = ", ".join(each.partition("s.")[0] for each in _KINDS)
    return UsageError(f"{typed!r} names no workload: use {names} or {_ANY}, as in deployment/web")


def is_workload(client: ApiClient, typed: str, namespace: str | None) -> bool:
    """Whether what was typed names a kind that has pods of its own."""
    if "/" not in typed or _is_any(typed.partition("/")[0]):
        return "/" in typed
    resource = resolve_object(client, typed, namespace).resource
    return f"{resource.plural}.{resource.group}" in _KINDS


def _is_any(kind: str) -> bool:
    return kind.lower() in (_ANY, f"{_ANY}s")


def read_progress(obj: Json) -> Json:
    """What the plane last wrote of its progress."""
    told: Json = (obj.get("status") or {}).get("progress") or {}
    return told


def is_done(seen: WorkloadSight) -> bool:
    return bool(seen.told) and not seen.behind and not seen.told.get("pending") and not seen.told.get("hold")


def held_up(told: Json) -> list[str]:
    """What its pods wait for, and the workload itself: reason, owner and message of each."""
    lines = []
    for group in told.get("pending") or ():
        such = f", such as {group['pod']}" if group.get("pod") else ""
        lines += _waits(f"{group['count']} at {group['stage']}", group, such)
    if told.get("hold"):
        lines += _waits("on hold", told["hold"])
    return lines


def _waits(what: str, told: Json, such: str = "") -> list[str]:
    reason = f": {told['reason']}" if told.get("reason") else ""
    line = cell(f"{what}{reason}{such}; next step: {told.get('owner') or '?'}")
    return [line, f"  {cell(told['message'])}"] if told.get("message") else [line]


def _pods(client: ApiClient, namespace: str, workload: Workload) -> list[Pod]:
    """Those that it controls, a Deployment's by its ReplicaSets. Its selector only makes the answer shorter."""
    labels = (workload.spec.selector or {}).get("matchLabels") or {}
    query = (
        {"labelSelector": ",".join(f"{key}={value}" for key, value in sorted(labels.items()))}
        if labels
        else {}
    )
    owners = {workload.metadata.uid}
    if isinstance(workload, Deployment):
        sets = client.get(f"/apis/apps/v1/namespaces/{namespace}/replicasets", query).get("items") or ()
        owners = {each["metadata"]["uid"] for each in sets if _controller(each) in owners}
    pods = client.get(f"/api/v1/namespaces/{namespace}/pods", query).get("items") or ()
    return [msgspec.convert(pod, Pod) for pod in pods if _controller(pod) in owners]


def _controller(obj: Json) -> str:
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((each.get("uid") or "" for each in owners if each.get("controller")), "")


def _served(client: ApiClient, workload: Workload) -> frozenset[str] | None:
    namespace = workload.metadata.namespace
    found = client.get(f"/api/v1/namespaces/{namespace}/services").get("items") or ()
    services = [each for each in (msgspec.convert(one, Service) for one in found) if selects(each, workload)]
    if not services:
        return None
    slices = client.get(f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices").get("items") or ()
    return served_by(services, [msgspec.convert(each, EndpointSlice) for each in slices])

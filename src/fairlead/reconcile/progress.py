"""Progress as state: `status.progress` of every workload says how far its pods have come and what holds them up.

    Deployment, StatefulSet, DaemonSet, Job  ->  {desired, admitted ... serving, pending, limit, deadline,
                                                  lastAction, lastError, observedGeneration, updated}

The arithmetic is in `ledger/progress.py`; here it is found out which pods are a workload's, which of them receive
traffic, and what was last done and last went wrong. It is written on visible change, at most once in SECONDS_BETWEEN
for a workload and for the first time so long after it was made, because pods come far in a short time. Nothing is
decided on it here; other controllers may read it.

A workload has one key, its own, so that no two turns write the same status: a pod of a Deployment wakes the Deployment
that its ReplicaSet names. Where the ReplicaSet is not known yet, it wakes the Deployment when it comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import NOTHING, Decision, Reading, Settled, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import ChangeStatus, change_status, identity
from fairlead.decision.predicates import NEW, OWNED
from fairlead.decision.wakes import itself
from fairlead.ledger.progress import MESSAGE_MAX, explain_shortage, given_up, progress
from fairlead.model.key import Key
from fairlead.model.reasons import HELD, LATE, PAUSED, SUSPENDED
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES, EndpointSlice, Service
from fairlead.model.stages import STAGES
from fairlead.model.views import (
    DAEMONSETS,
    DEPLOYMENTS,
    JOBS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    DaemonSet,
    Deployment,
    Job,
    Json,
    Pod,
    ReplicaSet,
    Resource,
    StatefulSet,
)
from fairlead.reconcile.deployment.caution import is_paused

SECONDS_BETWEEN = 1.0
_NAME = "progress"
_SERVICE = "kubernetes.io/service-name"  # label of a slice
_NO_DEADLINE = 2**31 - 1
_WORKLOADS: dict[str, Resource[Any]] = {
    each.kind: each for each in (DEPLOYMENTS, STATEFULSETS, DAEMONSETS, JOBS)
}

Workload = Deployment | StatefulSet | DaemonSet | Job


def progress_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(*_WORKLOADS.values(), REPLICASETS, PODS, SERVICES, ENDPOINT_SLICES),
        wakes=(
            *(Wake(each, itself) for each in _WORKLOADS.values()),
            Wake(REPLICASETS, _of_replicaset, when=NEW),
            Wake(PODS, _of_pod, when=OWNED),
            Wake(ENDPOINT_SLICES, _of_slice),
            Wake(SERVICES, _of_service),
        ),
        decide=_decide,
        unsettled=_unsettled,
    )


def _unsettled(view: Reading) -> Iterable[Key]:
    """Of every kind of workload: whoever comes to lead may have to tell what a former leader did not."""
    for resource in (DEPLOYMENTS, STATEFULSETS, DAEMONSETS, JOBS):
        for each in view.list(resource):
            assert isinstance(each, Workload)
            yield Key(resource.name, each.metadata.namespace, each.metadata.name)


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = _find(view, key)
    if found is None:
        return NOTHING
    resource, workload = found
    told = told_of(workload, _pods(view, workload), _served(view, workload))
    known = workload.status.progress
    updated = known.get("updated", "")
    if {**known, "updated": ""} == {**told, "updated": ""}:
        return Decision(Settled())
    # What is new is told of later as well: its own controller writes to it at the same moment, and one of them in vain.
    next_at = parse_time(updated or workload.metadata.creation_timestamp) + SECONDS_BETWEEN
    if next_at - SECONDS_BETWEEN <= now < next_at:  # a leader whose clock was ahead does not count
        return Decision(Waiting("ToldAMomentAgo"), again_at=next_at, rest_until=next_at)
    told["updated"] = timestamp(now)
    write = _write(resource, workload, _instead(known, told))
    return Decision(effects=(write,), rest_until=parse_time(told["updated"]) + SECONDS_BETWEEN, is_final=True)


def _instead(known: Json, told: Json) -> Json:
    """The merge patch that leaves nothing of what was known: what is not told any more is removed, at every depth."""
    return {
        **dict.fromkeys(known),
        **{
            name: _instead(known[name], value)
            if isinstance(value, dict) and isinstance(known.get(name), dict)
            else value
            for name, value in told.items()
        },
    }


def _write(resource: Resource[Any], workload: Workload, told: Json) -> ChangeStatus:
    meta = workload.metadata
    label = identity(_NAME, meta.uid, "progress", meta.resource_version)
    return change_status(label, resource, meta, {"progress": told})


def _find(view: Reading, key: Key) -> tuple[Resource[Any], Workload] | None:
    resource = next(each for each in _WORKLOADS.values() if each.name == key.resource)
    workload: Workload | None = view.get(resource, key.namespace, key.name)
    if workload is None or workload.metadata.deletion_timestamp:
        return None
    return resource, workload


# What is told


def told_of(workload: Workload, pods: Sequence[Pod], served: frozenset[str] | None) -> Json:
    """`pods`: all that it controls. `served`: those that receive traffic; None when no Service selects them."""
    conditions = workload.status.conditions
    if isinstance(workload, Job) and _has_ended(workload):
        done = workload.status.succeeded  # its pods may be gone by now
        told: Json = dict.fromkeys(("desired", *STAGES[:-1]), done)
        if not any(each.type == "Complete" and each.status == "True" for each in conditions):
            told |= given_up(workload.spec.completions or done + 1, done, conditions)
    else:
        told = progress(pods, _desired(workload, pods), served, conditions)
    hold = _hold(workload)
    if hold is not None and hold["reason"] not in {each.get("reason") for each in told.get("pending") or ()}:
        told["hold"] = hold
    told["observedGeneration"] = workload.metadata.generation
    for name, value in (
        ("lastAction", _last_action(workload, pods)),
        ("lastError", _last_error(workload, pods)),
    ):
        if value is not None:
            told[name] = value.told()
    if isinstance(workload, Deployment):
        told |= _deadline(workload)
    return told


def _hold(workload: Workload) -> Json | None:
    """What somebody, or the rule for late rollouts, keeps from going on though no pod is missing for it."""
    held = next((each for each in workload.status.conditions if each.type == HELD), None)
    if held is not None:
        return explain_shortage(held.reason, held.message, held.owner)
    if isinstance(workload, Job):
        return explain_shortage(SUSPENDED, "Job suspended") if workload.spec.suspend else None
    if not isinstance(workload, Deployment):
        return None
    if workload.spec.paused and workload.status.updated_replicas < workload.spec.replicas:
        return explain_shortage(PAUSED, "Deployment is paused")
    late = next((each for each in workload.status.conditions if each.reason == LATE), None)
    return explain_shortage(LATE, late.message, late.owner) if late is not None and is_paused(late) else None


def _has_ended(job: Job) -> bool:
    return any(
        each.type in ("Complete", "Failed") and each.status == "True" for each in job.status.conditions
    )


def _pods(view: Reading, workload: Workload) -> Sequence[Pod]:
    uid, namespace = workload.metadata.uid, workload.metadata.namespace
    if not isinstance(workload, Deployment):
        return view.owned(PODS, uid, namespace)
    sets = view.owned(REPLICASETS, uid, namespace)
    return [pod for each in sets for pod in view.owned(PODS, each.metadata.uid, namespace)]


def _desired(workload: Workload, pods: Sequence[Pod]) -> int:
    if isinstance(workload, DaemonSet):
        return workload.status.desired_number_scheduled
    if isinstance(workload, Job):
        spec = workload.spec
        if spec.suspend:
            return 0
        done = max(workload.status.succeeded, sum(1 for pod in pods if pod.status.phase == "Succeeded"))
        if spec.completions is None:
            return max(done, spec.parallelism)
        return min(spec.completions, done + spec.parallelism)
    return workload.spec.replicas


def _served(view: Reading, workload: Workload) -> frozenset[str] | None:
    if isinstance(workload, Job):
        return None
    return served_with(view, workload.metadata.namespace, _template_labels(workload))


def selects(service: Service, workload: Workload) -> bool:
    return _selects(service, _template_labels(workload))


def served_with(view: Reading, namespace: str, labels: dict[str, str]) -> frozenset[str] | None:
    """The names of pods that receive traffic by Services for such labels; None: there is no such Service."""
    services = [each for each in view.list(SERVICES, namespace) if _selects(each, labels)]
    if not services:
        return None
    slices = (
        each
        for service in services
        for each in view.select(
            ENDPOINT_SLICES, namespace, {"matchLabels": {_SERVICE: service.metadata.name}}
        )
    )
    return served_by(services, slices)


def _selects(service: Service, labels: dict[str, str]) -> bool:
    return bool(service.spec.selector) and service.spec.selector.items() <= labels.items()


def served_by(services: Iterable[Service], slices: Iterable[EndpointSlice]) -> frozenset[str]:
    """A slice without ports of a Service that has some is of pods that lack the named port: nothing gets there."""
    has_ports = {each.metadata.name: bool(each.spec.ports) for each in services}
    return frozenset(
        name
        for each in slices
        if (owner := each.metadata.labels.get(_SERVICE)) in has_ports and (each.ports or not has_ports[owner])
        for name in _receiving(each)
    )


def _template_labels(workload: Workload) -> dict[str, str]:
    return (workload.spec.template.get("metadata") or {}).get("labels") or {}


def _deadline(deployment: Deployment) -> Json:
    seconds = deployment.spec.progress_deadline_seconds
    if seconds >= _NO_DEADLINE:
        return {}
    current = next((each for each in deployment.status.conditions if each.type == "Progressing"), None)
    if current is None or not current.last_update_time or current.reason == PAUSED:
        return {}  # of what is paused no progress is expected
    if current.reason == "ProgressDeadlineExceeded":
        return {"deadline": {"state": "Exceeded", "seconds": seconds}}
    if current.reason == "NewReplicaSetAvailable":
        return {"deadline": {"state": "Met", "seconds": seconds}}
    at = timestamp(parse_time(current.last_update_time) + seconds)
    return {"deadline": {"state": "Running", "seconds": seconds, "at": at}}


class _Happened(NamedTuple):
    at: str
    reason: str
    message: str
    pod: str = ""

    def told(self) -> Json:
        whole = {"at": self.at, "reason": self.reason, "message": self.message[:MESSAGE_MAX], "pod": self.pod}
        return {name: value for name, value in whole.items() if value}


def _last_action(workload: Workload, pods: Sequence[Pod]) -> _Happened | None:
    happened = []
    if pods:  # the one that came last
        at, name = max([(pod.metadata.creation_timestamp, pod.metadata.name) for pod in pods])
        happened.append(_Happened(at, "CreatedPod", "", name))
    if isinstance(workload, Deployment):
        happened += [
            _Happened(each.last_update_time, each.reason, each.message)
            for each in workload.status.conditions
            if each.type == "Progressing" and each.last_update_time
        ]
    return max(happened, default=None)


def _last_error(workload: Workload, pods: Sequence[Pod]) -> _Happened | None:
    happened = [
        _Happened(each.last_transition_time, each.reason, each.message)
        for each in workload.status.conditions
        if each.type in ("ReplicaFailure", "Failed")
        and each.status == "True"  # a Job that is given up says Failed
    ]
    for pod in pods:
        name = pod.metadata.name
        happened += [
            _Happened(each.last_transition_time, each.reason, each.message, name)
            for each in pod.status.conditions
            if each.type == "PodScheduled" and each.status == "False" and each.reason != "SchedulingGated"
        ]
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
            for state in (status.get("state") or {}, status.get("lastState") or {}):
                ended = state.get("terminated")
                if ended and ended.get("exitCode"):
                    text = f"container {status.get('name')} ended with exit code {ended['exitCode']}"
                    text += f": {ended['message']}" if ended.get("message") else ""
                    happened.append(
                        _Happened(ended.get("finishedAt") or "", ended.get("reason") or "Error", text, name)
                    )
    return max(happened, default=None)


# Which workloads a change concerns


def _of_replicaset(event: WatchEvent[ReplicaSet]) -> Iterable[Key]:
    key = _controller_key(event.newest)
    return () if key is None else (key,)


def _of_pod(event: WatchEvent[Pod]) -> Iterable[Key]:
    key = _workload_key(event.view, event.newest)
    return () if key is None else (key,)


def _of_slice(event: WatchEvent[EndpointSlice]) -> Iterable[Key]:
    """A slice names the pods that receive traffic."""
    view, before, after = event.view, event.before, event.after
    names = _receiving(before) ^ _receiving(after)
    if before is not None and after is not None and bool(before.ports) != bool(after.ports):
        names |= _receiving(after)
    pods = (view.get(PODS, event.key.namespace, name) for name in sorted(names))
    return sorted({key for pod in pods if pod is not None and (key := _workload_key(view, pod)) is not None})


def _of_service(event: WatchEvent[Service]) -> Iterable[Key]:
    """A Service selects the labels of pods."""
    return sorted({key for each in (event.before, event.after) for key in _selected(event.view, each)})


def _workload_key(view: Reading, pod: Pod) -> Key | None:
    owner = pod.metadata.controller
    if owner is not None and (owner.kind, owner.api_version) == (REPLICASETS.kind, REPLICASETS.api_version):
        replicas = view.get(REPLICASETS, pod.metadata.namespace, owner.name)
        return None if replicas is None else _controller_key(replicas)
    return _controller_key(pod)


def _controller_key(controlled: Pod | ReplicaSet) -> Key | None:
    owner = controlled.metadata.controller
    resource = _WORKLOADS.get(owner.kind) if owner is not None else None
    if owner is None or resource is None or owner.api_version != resource.api_version:
        return None
    return Key(resource.name, controlled.metadata.namespace, owner.name)


def _receiving(found: EndpointSlice | None) -> frozenset[str]:
    """Names of the pods that a slice sends traffic to."""
    if found is None:
        return frozenset()
    return frozenset(
        (each.get("targetRef") or {}).get("name") or ""
        for each in found.endpoints
        if (each.get("conditions") or {}).get("ready", True)
    )


def _selected(view: Reading, service: Service | None) -> Iterable[Key]:
    if service is None or not service.spec.selector:
        return
    wanted, namespace = service.spec.selector.items(), service.metadata.namespace
    for resource in (DEPLOYMENTS, STATEFULSETS, DAEMONSETS, JOBS):
        for each in view.list(resource, namespace):
            if isinstance(each, Workload) and wanted <= _template_labels(each).items():
                yield Key(resource.name, namespace, each.metadata.name)

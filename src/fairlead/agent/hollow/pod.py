"""The life of a pod that nothing runs: what its status says next, and when.

    bound, Pending   --start_seconds-->   Running, ready, with an address where nobody listens
    Running          --activeDeadlineSeconds-->  Failed, DeadlineExceeded
    Running, restartPolicy Never or OnFailure  --runs-for-->  Succeeded, or Failed if `fails` or `exit-code` says so
    deleted          --stop_seconds, at most its grace-->  Failed (if it had not ended), then removed

Pure functions of one pod and an instant, called by `decider.py`. Everything is read off the pod itself: times come
from its conditions and start time, the script from its annotations. No state is kept between calls.
"""

from __future__ import annotations

from hashlib import blake2b
from ipaddress import IPv4Network
from typing import NamedTuple

import msgspec

from fairlead.core.times import SECOND, parse_duration, parse_time, timestamp
from fairlead.model.marks import HOLLOW_NETWORK
from fairlead.model.views import Condition, Container, Json, Pod

RUNS_FOR = "hollow.fairlead.dev/runs-for"
FAILS = "hollow.fairlead.dev/fails"
EXIT_CODE = "hollow.fairlead.dev/exit-code"
_RUNS_FOR_DEFAULT = SECOND
_STOPPED = 143  # ended by SIGTERM
_HOLLOW = IPv4Network(HOLLOW_NETWORK)


class HollowDelays(NamedTuple):
    """How long a hollow node takes to start and to stop a pod."""

    start_seconds: float = 1.0
    stop_seconds: float = 1.0


class HollowStep(NamedTuple):
    """What comes next for a pod. Due in the future: only wait; its status is told when it is due. `remove`: it is over,
    take the object away."""

    due: float
    intent: str
    status: Json | None = None  # merge patch of the status
    remove: bool = False


def next_step(pod: Pod, now: float, pace: HollowDelays) -> HollowStep | None:
    """The next step in a pod's life, due now or later; None when there is none."""
    if pod.metadata.deletion_timestamp:
        return _stopping(pod, now, pace)
    phase = pod.status.phase
    if pod.finished:
        return None
    if phase != "Running":
        due = _scheduled_at(pod) + pace.start_seconds
        return HollowStep(due, "start", _running(pod, now) if due <= now else None)
    if not pod.ready:
        return HollowStep(now, "ready", _running(pod, now))
    started = parse_time(pod.status.start_time or pod.metadata.creation_timestamp)
    deadline = pod.spec.active_deadline_seconds
    if pod.spec.restart_policy != "Always" and (deadline is None or _runs_for(pod) <= deadline):
        due = started + _runs_for(pod)
        return HollowStep(due, "end", _ended(pod, now, _exit_code(pod)) if due <= now else None)
    if deadline is None:
        return None
    due = started + deadline
    return HollowStep(due, "deadline", _overdue(pod, now) if due <= now else None)


def _stopping(pod: Pod, now: float, pace: HollowDelays) -> HollowStep | None:
    meta = pod.metadata
    grace = meta.deletion_grace_period_seconds or 0
    ends = parse_time(meta.deletion_timestamp)
    due = min(ends - grace + pace.stop_seconds, ends)
    if not pod.finished:
        return HollowStep(due, "stop", _ended(pod, now, _STOPPED) if due <= now else None)
    # Without grace only a finalizer still holds it, and that is not the node's to remove.
    return HollowStep(due, "remove", remove=True) if grace else None


def _scheduled_at(pod: Pod) -> float:
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.last_transition_time:
            return parse_time(condition.last_transition_time)
    return parse_time(pod.metadata.creation_timestamp)


def _runs_for(pod: Pod) -> float:
    text = pod.metadata.annotations.get(RUNS_FOR)
    if text is None:
        return _RUNS_FOR_DEFAULT / SECOND
    try:
        return parse_duration(text) / SECOND
    except ValueError:
        # A script that cannot be read is as good as none; the pod still ends.
        return _RUNS_FOR_DEFAULT / SECOND


def _exit_code(pod: Pod) -> int:
    annotations = pod.metadata.annotations
    text = annotations.get(EXIT_CODE, "")
    # As with the time it runs: what cannot be read is as good as not there.
    said = int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else 0
    return said or int(annotations.get(FAILS) == "true")


def _running(pod: Pod, now: float) -> Json:
    at = timestamp(now)
    started = pod.status.start_time or at
    containers = [
        {**_container(each), "ready": True, "started": True, "state": {"running": {"startedAt": at}}}
        for each in pod.spec.containers
    ]
    return {
        "phase": "Running",
        "startTime": started,
        "conditions": _conditions(pod, at, "True", ""),
        "containerStatuses": containers,
        **_addresses(pod),
    }


def address_of(identity: str) -> str:
    """What a hollow node or pod says its address is: one that follows from its name or uid."""
    number = int.from_bytes(blake2b(identity.encode(), digest_size=4).digest()) % _HOLLOW.num_addresses
    return str(_HOLLOW[number])


def _addresses(pod: Pod) -> Json:
    own = address_of(pod.metadata.uid)
    host = address_of(pod.spec.node_name)
    return {"podIP": own, "podIPs": [{"ip": own}], "hostIP": host, "hostIPs": [{"ip": host}]}


def _overdue(pod: Pod, now: float) -> Json:
    text = "Pod was active on the node longer than the specified deadline"
    return {**_ended(pod, now, _STOPPED), "phase": "Failed", "reason": "DeadlineExceeded", "message": text}


def _ended(pod: Pod, now: float, exit_code: int) -> Json:
    at = timestamp(now)
    good = exit_code == 0
    terminated = {
        "exitCode": exit_code,
        "reason": "Completed" if good else "Error",
        "startedAt": pod.status.start_time or at,
        "finishedAt": at,
    }
    containers = [
        {**_container(each), "ready": False, "started": False, "state": {"terminated": terminated}}
        for each in pod.spec.containers
    ]
    return {
        "phase": "Succeeded" if good else "Failed",
        "startTime": pod.status.start_time or at,
        "conditions": _conditions(pod, at, "False", "PodCompleted" if good else "PodFailed"),
        "containerStatuses": containers,
    }


def _container(container: Container) -> Json:
    image = container.image
    return {"name": container.name, "image": image, "imageID": image, "restartCount": 0}


def _conditions(pod: Pod, at: str, ready: str, reason: str) -> list[Json]:
    """All conditions a node reports, after those that others gave; a transition time moves only with the condition."""
    known = {condition.type: condition for condition in pod.status.conditions}
    wanted = (
        ("PodScheduled", "True", ""),
        ("Initialized", "True", ""),
        ("ContainersReady", ready, reason),
        ("Ready", ready, reason),
    )
    ours = {kind for kind, _, _ in wanted}
    conditions = [_as_json(each) for each in pod.status.conditions if each.type not in ours]
    for kind, status, why in wanted:
        before = known.get(kind)
        since = before.last_transition_time if before is not None and before.status == status else at
        conditions.append({"type": kind, "status": status, "lastTransitionTime": since or at})
        if why:
            conditions[-1]["reason"] = why
    return conditions


def _as_json(condition: Condition) -> Json:
    tree: Json = msgspec.to_builtins(condition)
    return {name: value for name, value in tree.items() if value}

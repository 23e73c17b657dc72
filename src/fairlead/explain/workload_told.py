"""What a workload tells of itself: how many of its pods are ready, and what holds it up that none of its pods tells.

    ready_told(there, pods)      as its status says it; what has ended, or waits for its time, wants no pods
    held_up(workload, there)     a Job that failed or is suspended, a paused rollout, a controller that is behind
    refuse_others(...)           an error for what is no workload

Of a workload with pods that wait or fail `boundary.py` tells more. Called by `debugging.py` and `boundary.py`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fairlead.core.errors import BadRequest
from fairlead.explain.timeline.moment import key_of, key_text, name_of
from fairlead.model.key import Key
from fairlead.model.views import CRONJOBS, DAEMONSETS, DEPLOYMENTS, JOBS, PODS, REPLICASETS, STATEFULSETS, Pod

Json = dict[str, Any]
_WORKLOADS = frozenset(
    each.name for each in (PODS, DEPLOYMENTS, REPLICASETS, STATEFULSETS, DAEMONSETS, JOBS, CRONJOBS)
)
_FAILED = ("Failed", "FailureTarget")
_ENDED = (*_FAILED, "Complete", "SuccessCriteriaMet")


class HeldUp(NamedTuple):
    """`sentence`: without a full stop; `action`: a command."""

    sentence: str
    action: str


def refuse_others(target: Key, there: Json, own: Iterable[str]) -> None:
    """A view of pods is of a workload, of a custom kind too. Others are sent to who tells of them."""
    if target.resource in _WORKLOADS or "replicas" in (there.get("spec") or {}):
        return
    if any(key_of(each).resource in _WORKLOADS for each in own):
        return
    name, space = name_of(key_text(target)), f" -n {target.namespace}" if target.namespace else ""
    raise BadRequest(
        f"{name} is no workload and has no pods: `fairlead timeline {name}{space}` and"
        f" `fairlead explain {name}{space}` tell of it"
    )


def ready_told(there: Json, pods: Iterable[Pod]) -> Json:
    """Of a lone pod, by its conditions."""
    spec, status = there.get("spec") or {}, there.get("status") or {}
    kind = there.get("kind")
    if kind == "Pod":
        pods = tuple(pods)
        ready = sum(
            any(c.type == "Ready" and c.status == "True" for c in each.status.conditions) for each in pods
        )
        return {"ready": ready, "desired": 1, "exist": sum(each.live for each in pods)}
    if kind == "Job":
        return {
            "ready": status.get("ready", 0),
            "desired": _wanted(spec, status),
            "exist": status.get("active", 0),
        }
    if kind == "CronJob":
        return {"ready": 0, "desired": 0, "exist": 0}  # its Jobs have pods
    wanted = spec.get("replicas", status.get("desiredNumberScheduled", 1))
    told = status.get("readyReplicas", status.get("numberReady", 0))
    made = status.get("replicas", status.get("currentNumberScheduled", 0))
    return {"ready": told, "desired": wanted, "exist": made}


def _wanted(spec: Json, status: Json) -> int:
    """How many pods a Job wants at once."""
    if spec.get("suspend") or _condition(status, *_ENDED) is not None:
        return 0
    at_once = int(spec.get("parallelism", 1))
    wanted = spec.get("completions")
    return at_once if wanted is None else min(at_once, max(0, int(wanted) - int(status.get("succeeded", 0))))


def held_up(workload: str, there: Json) -> HeldUp | None:
    """None: it says nothing of the sort."""
    name, space = name_of(workload), key_of(workload).namespace
    place = f" -n {space}" if space else ""
    spec, status = there.get("spec") or {}, there.get("status") or {}
    kind = there.get("kind")
    failed = _condition(status, *_FAILED) if kind == "Job" else None
    if failed is not None:
        why = f"{failed.get('reason', '')}: {failed.get('message', '')}"
        return HeldUp(f"{name} has failed, and is not tried again: {why}", f"kubectl describe {name}{place}")
    if kind == "CronJob" and spec.get("suspend"):
        return HeldUp(f"at {name} itself: it is suspended, and makes no Jobs", f"kubectl edit {name}{place}")
    written, observed = there["metadata"].get("generation", 0), status.get("observedGeneration")
    if observed is not None and observed < written:
        return HeldUp(
            f"between the API and the controller of {name}: generation {written} is not observed yet, its status is"
            f" of {observed}",
            "fairlead queues",
        )
    progress = status.get("progress") or {}
    told = progress.get("limit") or progress.get("hold")
    if not told:
        return None
    stage = f" at {told['stage']}" if told.get("stage") else ""
    why = ": ".join(filter(None, (told.get("reason", ""), told.get("message", ""))))
    return HeldUp(
        f"{name} is held up{stage}: {why}; next step: {told.get('owner', 'user')}",
        f"fairlead progress {name}{place}",
    )


def _condition(status: Json, *types: str) -> Json | None:
    for each in status.get("conditions") or ():
        if each.get("type") in types and each.get("status") == "True":
            return dict(each)
    return None

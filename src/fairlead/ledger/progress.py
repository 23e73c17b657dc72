"""A workload's progress: how many of its pods have come how far, what holds up the rest, and whose turn it is.

`reconcile/progress.py` writes it into the workload's status, `fairlead progress` shows it. The numbers are a funnel:
each counts the pods that have come at least so far, so they never grow from left to right. Whose turn it is:
`model/reasons.py`.

    desired >= admitted >= queued >= scheduled >= bound >= starting >= ready >= serving

A workload that no Service selects ends at ready, and `serving` is left out. A pod that was released, has failed or is
going has no part in it: its owner replaces it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from typing import Any

from fairlead.model.marks import RELEASED
from fairlead.model.reasons import (
    ADMITTED,
    BOUND,
    DESIRED,
    HELD,
    LATE,
    NOT_CREATED,
    PAUSED,
    QUEUED,
    READY,
    SCHEDULED,
    SERVING,
    STARTING,
    WAITING_FOR,
    owner_of,
)
from fairlead.model.stages import DEFAULT_SCHEDULER, ENDED, STAGES, Standing, standing
from fairlead.model.views import Condition, Pod

Json = dict[str, Any]

#: bound: plane | groups of waiting pods told of a workload | the rest is left out
PENDING_MAX = 8  # groups of pods that wait for the same thing
#: bound: plane | of a message in a workload's progress | cut, in characters
MESSAGE_MAX = 256  # characters of what is told of each


def standing_of(pod: Pod, served: Set[str] | None = None) -> Standing:
    """`served`: names of pods that receive traffic; None when no Service selects it, so that ready is the end."""
    status = pod.status
    found = standing(
        pod.spec.node_name,
        [gate.get("name") or "" for gate in pod.spec.scheduling_gates],
        status.nominated_node_name,
        status.phase,
        status.conditions,
        (*status.init_container_statuses, *status.container_statuses),
        is_served=served is not None and pod.metadata.name in served,
        scheduler=pod.spec.scheduler_name or DEFAULT_SCHEDULER,
    )
    if served is None or found.stage != READY:
        return found
    return found._replace(owner=owner_of(READY, ""))


def stage_of(pod: Pod) -> str:
    """The stage that `standing_of` finds, without why: asked at every change of every pod."""
    spec, status = pod.spec, pod.status
    if status.phase in ("Succeeded", "Failed"):
        return ENDED
    if not spec.node_name:
        if spec.scheduling_gates:
            return ADMITTED
        return SCHEDULED if status.nominated_node_name else QUEUED
    ready = released = ""
    for condition in status.conditions:
        if condition.type == "Ready":
            ready = condition.status
        elif condition.type == RELEASED:
            released = condition.status
    if released == "True":
        return BOUND
    if ready == "True":
        return READY
    if status.container_statuses or status.init_container_statuses:
        return STARTING
    return BOUND


def counts(pod: Pod) -> bool:
    """Whether it is one of those that its workload wants."""
    if pod.metadata.deletion_timestamp or pod.status.phase == "Failed":
        return False
    return not pod.released


def progress(
    pods: Iterable[Pod], desired: int, served: Set[str] | None, conditions: Iterable[Condition] = ()
) -> Json:
    """`served`: names of pods that receive traffic; None when no Service selects the workload's pods. `conditions`:
    the workload's, which tell what pods that are not there wait for."""
    stages = STAGES if served is not None else STAGES[:-1]
    last = SERVING if served is not None else READY
    standings = [(pod, standing_of(pod, served)) for pod in pods if counts(pod)]
    reached = Counter(each.stage if each.stage in stages else stages[-1] for _, each in standings)
    told: Json = {"desired": desired}
    left = len(standings)
    for stage in stages:
        told[stage] = left
        left -= reached[stage]
    waiting = [(pod, each) for pod, each in standings if each.stage not in (last, ENDED)]
    groups = _groups(waiting, stages)
    missing = desired - len(standings)
    if missing > 0:
        groups.insert(0, {"stage": DESIRED, "count": missing, **_not_created(conditions)})
    if groups:
        told["pending"] = groups[:PENDING_MAX]
        # What most wait for; of equals the one furthest back, as nothing behind it can go on either.
        told["limit"] = {k: v for k, v in max(groups, key=lambda g: g["count"]).items() if k in _LIMIT}
    return told


def given_up(desired: int, done: int, conditions: Iterable[Condition]) -> Json:
    """Of a Job that will not make the pods that it wants any more."""
    group = {"stage": DESIRED, "count": desired - done, **_not_created(conditions)}
    return {"desired": desired, "pending": [group], "limit": {k: v for k, v in group.items() if k in _LIMIT}}


def _not_created(conditions: Iterable[Condition]) -> Json:
    """What pods that are not there wait for: the first of the workload's conditions that says it."""
    told = {each.type: each for each in conditions}
    for kind, status, reasons in _WHY_NOT_CREATED:
        each = told.get(kind)
        if each is not None and each.status == status and (not reasons or each.reason in reasons):
            return explain_shortage(each.reason, each.message, each.owner)
    return {"reason": NOT_CREATED, "owner": owner_of(DESIRED, NOT_CREATED)}


def explain_shortage(reason: str, message: str, owner: str = "") -> Json:
    """Why a workload has no more pods than it has. `owner`: as its condition names it."""
    told = {"reason": reason, "message": message[:MESSAGE_MAX]}
    return {**told, "owner": owner or owner_of(DESIRED, reason)}


# Type and status of conditions, and the reasons that count; all of them if none is given.
_WHY_NOT_CREATED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (WAITING_FOR, "True", ()),
    (HELD, "True", ()),
    ("ReplicaFailure", "True", ("FailedCreate",)),
    ("Progressing", "False", ("ReplicaSetCreateError", LATE)),
    ("Progressing", "Unknown", (PAUSED,)),
    ("Failed", "True", ()),
)
_LIMIT = ("stage", "reason", "message", "owner")


def _groups(waiting: Iterable[tuple[Pod, Standing]], stages: tuple[str, ...]) -> list[Json]:
    found: dict[tuple[str, str, str], Json] = {}
    for pod, each in waiting:
        group = found.get((each.stage, each.reason, each.owner))
        if group is not None:
            group["count"] += 1
            continue
        told: Json = {
            "stage": each.stage,
            "count": 1,
            "pod": pod.metadata.name,
            "owner": each.owner,
        }
        if each.reason:
            told["reason"] = each.reason
        if each.message:
            told["message"] = each.message[:MESSAGE_MAX]
        found[(each.stage, each.reason, each.owner)] = told
    return sorted(found.values(), key=lambda group: stages.index(group["stage"]))

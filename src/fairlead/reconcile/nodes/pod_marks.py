"""The conditions that tell a pod's readers how it stands with a node that is out of reach, and how they are taken back.

Used by the controllers of release and return, and by ReplicaSets; pure. `fairlead.dev/Released` is False while a
release is ahead (its message says when, who acts next, and what a human can do), True once it is committed.
"""

from __future__ import annotations

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.effects import ChangeStatus
from fairlead.decision.ensure import ensure_status
from fairlead.model.marks import QUOTA_GIVEN, RELEASED, RETURNED
from fairlead.model.premise import Premises
from fairlead.model.reasons import BOUND, LOST, STARTING, owner_of
from fairlead.model.views import PODS, Condition, Pod

_READY = "Ready"


def released_condition(pod: Pod) -> Condition | None:
    return condition_of(pod, RELEASED)


def condition_of(pod: Pod, kind: str) -> Condition | None:
    for each in pod.status.conditions:
        if each.type == kind:
            return each
    return None


def is_lost(pod: Pod) -> bool:
    ready, released = condition_of(pod, _READY), released_condition(pod)
    return (ready is not None and (ready.status == "Unknown" or ready.reason == LOST)) or (
        released is not None and released.status == "True"
    )


def containers_ready(pod: Pod) -> bool:
    """As its node last said."""
    states = pod.status.container_statuses
    return bool(states) and all(each.get("ready") for each in states)


def mark_pod(
    controller: str, pod: Pod, wanted: Condition | None, now: float, *, lost: bool, premises: Premises = ()
) -> ChangeStatus | None:
    """The pod with this Released condition (None: without one), and not ready while it is `lost`. One that counts for
    its owner, or is to again, holds its own quota: nobody else can take it before its replacement has gone."""
    counts = wanted is None or wanted.status != "True" or wanted.reason == RETURNED
    ours = (RELEASED, _READY, QUOTA_GIVEN) if counts else (RELEASED, _READY)
    conditions = [each for each in pod.status.conditions if each.type not in ours]
    ready = condition_of(pod, _READY)
    owner = owner_of(BOUND if not counts else STARTING, wanted.reason if wanted is not None else LOST)
    if ready is not None:
        conditions.append(_readiness(pod, ready, now, owner, lost=lost))
    known = released_condition(pod)
    if wanted is not None:
        same = known is not None and known.status == wanted.status
        since = known.last_transition_time if same and known is not None else timestamp(now)
        conditions.append(structs.replace(wanted, last_transition_time=since, owner=owner))
    if sorted(map(_told, conditions)) == sorted(map(_told, pod.status.conditions)):
        return None
    status = structs.replace(pod.status, conditions=tuple(conditions))
    effect = ensure_status(controller, PODS, pod, status)
    return None if effect is None else structs.replace(effect, premises=premises)


def _readiness(pod: Pod, ready: Condition, now: float, owner: str, *, lost: bool) -> Condition:
    """`owner`: who has the next step for a pod that is lost."""
    if lost:
        since = ready.last_transition_time if ready.status != "True" else timestamp(now)
        return structs.replace(ready, status="False", reason=LOST, last_transition_time=since, owner=owner)
    if ready.reason != LOST:
        return ready
    if containers_ready(pod):
        return structs.replace(ready, status="True", reason="", last_transition_time=timestamp(now), owner="")
    return structs.replace(ready, reason="ContainersNotReady", owner="")


def _told(condition: Condition) -> tuple[str, ...]:
    return condition.type, condition.status, condition.reason, condition.message, condition.owner

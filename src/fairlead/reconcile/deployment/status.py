"""A Deployment's status: counters over its ReplicaSets, and the conditions Available, Progressing,
ReplicaFailure, WaitingFor.

Called by `decider.py` when there is nothing else to do. Progress is what the counters show against the status
written last; without progress for progressDeadlineSeconds, Progressing turns False. Times of a condition change only
when something that a reader can see changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import structs

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import Refusal
from fairlead.model.reasons import LATE, PAUSED, WAITING_FOR, owner_told
from fairlead.model.views import Condition, Deployment, DeploymentStatus, ReplicaSet
from fairlead.reconcile.deployment.history import REVISION_HISTORY
from fairlead.reconcile.deployment.rollout import RolloutLimits
from fairlead.reconcile.waiting import add_waiting, refused_owner

AVAILABLE, PROGRESSING, REPLICA_FAILURE = "Available", "Progressing", "ReplicaFailure"
CREATED, FOUND = "NewReplicaSetCreated", "FoundNewReplicaSet"
UPDATED, COMPLETE, RESUMED = "ReplicaSetUpdated", "NewReplicaSetAvailable", "DeploymentResumed"
# So much means that there is no deadline.
_NO_DEADLINE = 2**31 - 1


class Pause(NamedTuple):
    """What being late means for a rollout (`caution.py`). With a `note` it goes no further, which the note
    tells, until its new pods have `recovered`."""

    note: str = ""
    recovered: bool = False


NO_PAUSE = Pause()


def wanted_status(
    deployment: Deployment,
    new: ReplicaSet | None,
    olds: Sequence[ReplicaSet],
    bounds: RolloutLimits,
    now: float,
    pause: Callable[[], Pause] = lambda: NO_PAUSE,
    unknown: int = 0,
    became_ready: Callable[[float], bool] = lambda since: False,
) -> DeploymentStatus:
    """`pause`: asked of a rollout that is late. `unknown`: pods of a silent node. `became_ready`: whether a new pod did
    after a time, also if its set has not told so yet."""
    sets = (*olds, new) if new is not None else tuple(olds)
    told = sum(found.spec.replicas for found in sets)
    available = sum(found.status.available_replicas for found in sets)
    counted = DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(found.status.replicas for found in sets),
        updated_replicas=new.status.replicas if new is not None else 0,
        ready_replicas=sum(found.status.ready_replicas for found in sets),
        available_replicas=available,
        unavailable_replicas=max(0, told - available),
        unknown_replicas=unknown,
        collision_count=deployment.status.collision_count,
        progress=deployment.status.progress,
    )
    conditions = (
        _availability(deployment, counted, bounds, now),
        _progressing(deployment, counted, new, now, pause, became_ready),
        _of_newest(sets, REPLICA_FAILURE),
        _of_newest(sets, WAITING_FOR),
    )
    return _with(counted, deployment, conditions)


def _with(
    counted: DeploymentStatus, deployment: Deployment, conditions: Sequence[Condition | None]
) -> DeploymentStatus:
    known = (AVAILABLE, PROGRESSING, REPLICA_FAILURE, WAITING_FOR)
    others = [each for each in deployment.status.conditions if each.type not in known]
    fields = {name: getattr(counted, name) for name in counted.__struct_fields__}
    fields["conditions"] = (*(each for each in conditions if each is not None), *others)
    return DeploymentStatus(**fields)


def condition(deployment: Deployment, kind: str) -> Condition | None:
    return next((each for each in deployment.status.conditions if each.type == kind), None)


def is_complete(deployment: Deployment, counted: DeploymentStatus) -> bool:
    wanted = deployment.spec.replicas
    return counted.updated_replicas == counted.replicas == counted.available_replicas == wanted


def deadline(deployment: Deployment, new: ReplicaSet | None, wanted: DeploymentStatus) -> float:
    """When a rollout that makes no progress will be late; 0 if it cannot be, as where its set is not there: that may
    be refused for as long as anything."""
    current = next((each for each in wanted.conditions if each.type == PROGRESSING), None)
    seconds = deployment.spec.progress_deadline_seconds
    if new is None or current is None or seconds >= _NO_DEADLINE or deployment.spec.paused:
        return 0.0
    if current.reason in (COMPLETE, LATE) or not current.last_update_time:
        return 0.0
    return parse_time(current.last_update_time) + seconds + 1  # times of conditions are cut to the second


def _availability(
    deployment: Deployment, counted: DeploymentStatus, bounds: RolloutLimits, now: float
) -> Condition:
    if counted.available_replicas >= bounds.minimum:
        reason, message = "MinimumReplicasAvailable", "Deployment has minimum availability."
        return _condition(deployment, AVAILABLE, "True", reason, message, now)
    reason, message = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
    return _condition(deployment, AVAILABLE, "False", reason, message, now)


def _progressing(
    deployment: Deployment,
    counted: DeploymentStatus,
    new: ReplicaSet | None,
    now: float,
    pause: Callable[[], Pause],
    became_ready: Callable[[float], bool],
) -> Condition | None:
    current = condition(deployment, PROGRESSING)
    if deployment.spec.progress_deadline_seconds >= _NO_DEADLINE:
        return None
    reason = current.reason if current is not None else ""
    if deployment.spec.paused:
        if reason == LATE:
            return current
        return _condition(deployment, PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now)
    if reason == PAUSED:
        return _condition(deployment, PROGRESSING, "Unknown", RESUMED, "Deployment is resumed", now)
    if new is None:
        return current
    name = new.metadata.name
    if is_complete(deployment, counted):
        text = f'ReplicaSet "{name}" has successfully progressed.'
        return _condition(deployment, PROGRESSING, "True", COMPLETE, text, now)
    if current is None or (reason != RESUMED and f'"{name}"' not in current.message):
        if REVISION_HISTORY in new.metadata.annotations:
            return _condition(deployment, PROGRESSING, "True", FOUND, f'Found new replica set "{name}"', now)
        return _condition(deployment, PROGRESSING, "True", CREATED, f'Created new replica set "{name}"', now)
    if reason == COMPLETE and counted.replicas == counted.updated_replicas:
        return current  # pods come and go after a rollout too: that is not its failure
    if _goes_on(deployment.status, counted, pause() if reason == LATE else NO_PAUSE):
        text = f'ReplicaSet "{name}" is progressing.'
        return _condition(deployment, PROGRESSING, "True", UPDATED, text, now, touched=True)
    if reason == LATE and deployment.metadata.generation != deployment.status.observed_generation:
        # Somebody did something about it: it gets its time anew.
        text = f'ReplicaSet "{name}" is tried again: the Deployment was changed.'
        return _condition(deployment, PROGRESSING, "True", UPDATED, text, now)
    if reason != COMPLETE and _is_late(deployment, current, now):
        if reason != LATE and became_ready(parse_time(current.last_update_time)):
            # A report that is held up would come too late: the pod was ready before, and that is no recovery.
            text = f'ReplicaSet "{name}" is progressing.'
            return _condition(deployment, PROGRESSING, "True", UPDATED, text, now, touched=True)
        text = f'ReplicaSet "{name}" has timed out progressing.{pause().note}'
        return _condition(deployment, PROGRESSING, "False", LATE, text, now)
    return current


def _goes_on(before: DeploymentStatus, counted: DeploymentStatus, pause: Pause) -> bool:
    return pause.recovered if pause.note else _has_progressed(before, counted)


def _has_progressed(before: DeploymentStatus, after: DeploymentStatus) -> bool:
    return (
        after.updated_replicas > before.updated_replicas
        or after.replicas - after.updated_replicas < before.replicas - before.updated_replicas
        or after.ready_replicas > before.ready_replicas
        or after.available_replicas > before.available_replicas
    )


def _is_late(deployment: Deployment, current: Condition, now: float) -> bool:
    if current.reason == LATE:
        return True
    since = parse_time(current.last_update_time) if current.last_update_time else now
    return now >= since + deployment.spec.progress_deadline_seconds + 1


def _of_newest(sets: Sequence[ReplicaSet], kind: str) -> Condition | None:
    """The newest set that cannot make its pods speaks for the Deployment."""
    for found in reversed(sets):
        for each in found.status.conditions:
            if each.type == kind and each.status == "True":
                return Condition(
                    type=each.type, status=each.status, reason=each.reason, message=each.message,
                    last_transition_time=each.last_transition_time,
                    last_update_time=each.last_update_time or each.last_transition_time, owner=each.owner,
                )  # fmt: skip
    return None


def _condition(
    deployment: Deployment,
    kind: str,
    status: str,
    reason: str,
    message: str,
    now: float,
    *,
    touched: bool = False,
) -> Condition:
    """The condition as it is if it says the same already, unless something moved under it."""
    current = condition(deployment, kind)
    at = since = timestamp(now)
    if current is not None and current.status == status:
        since = current.last_transition_time
        if not touched and (current.reason, current.message) == (reason, message):
            return current
    return Condition(
        type=kind, status=status, reason=reason, message=message, last_transition_time=since, last_update_time=at,
        owner=owner_told(reason),
    )  # fmt: skip


def create_failed(
    deployment: Deployment, counted: DeploymentStatus, refusal: Refusal, now: float
) -> DeploymentStatus:
    """The status while the API refuses to create the new ReplicaSet; `counted`: as it would be otherwise."""
    reason = "ReplicaSetCreateError"
    failed = _condition(deployment, PROGRESSING, "False", reason, refusal.message, now)
    failed = structs.replace(failed, owner=refused_owner(refusal, reason))
    others = [each for each in counted.conditions if each.type not in (PROGRESSING, WAITING_FOR)]
    # What it waits for itself, which no set tells, is known from its own status: since when it waits stays as it was.
    waiting = condition(deployment, WAITING_FOR)
    if waiting is not None:
        others.append(waiting)
    conditions = (*add_waiting(others, refusal, deployment.metadata.name, now), failed)
    return structs.replace(counted, conditions=conditions)

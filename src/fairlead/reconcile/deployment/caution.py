"""When a rollout should not go on as its arithmetic says: it is late, or pods that it counts on are out of reach.

Called by `decider.py`; pure. Two rules, neither of them in Kubernetes:

    late             progressDeadlineSeconds have passed and a row of the EvidencePolicy lets that pause expansion: the
                     rollout makes no more new pods and takes no more old ones, until it progresses or somebody changes
                     the Deployment. What runs is kept, and its ReplicaSets go on replacing what ends.
    out of reach     what a ReplicaSet reports as available may be on a node that nobody hears of
                     (`reconcile/nodes/reach.py`). Before pods are given up for others, those are not counted: the rest
                     may be the only capacity left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from fairlead.core.times import parse_time
from fairlead.decision.contract import EventNote, Reading
from fairlead.decision.notes import WARNING, regarding_of
from fairlead.ledger.evidence import NEVER, Evidence
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.reasons import LATE
from fairlead.model.views import (
    DEPLOYMENTS,
    EVIDENCE_POLICIES,
    PODS,
    Condition,
    Deployment,
    DeploymentStatus,
    ReplicaSet,
)
from fairlead.reconcile.deployment.rollout import Seen, Sizes, is_recreate
from fairlead.reconcile.deployment.status import NO_PAUSE, PROGRESSING, Pause, condition
from fairlead.reconcile.nodes.reach import is_out_of_reach

# A plan looks at each set through the given eyes.
Plan = Callable[[Seen], Sizes]


# Late


def pause_of(view: Reading, deployment: Deployment, new: ReplicaSet | None, now: float) -> Pause:
    """What being late means for a rollout: nothing without a row that allows it, or before its time. Recreate has
    nothing that runs to keep, and what it waits for, the end of old pods, is not progress that anybody counts."""
    policy = view.get(EVIDENCE_POLICIES, "", rows.NAME)
    allowed = Evidence(policy).allows(rows.ROLLOUT_LATE, rows.PAUSE_EXPANSION)
    if allowed is None or is_recreate(deployment.spec.strategy):
        return NO_PAUSE
    since = _late_since(deployment, now)
    if now < since + allowed.after_seconds:
        return NO_PAUSE
    note = f" The rollout goes no further until it progresses or the Deployment is changed ({allowed.cited})."
    return Pause(note, any(at >= since for at in _ready_times(view, new)))


def became_ready(view: Reading, new: ReplicaSet | None, since: float) -> bool:
    """Whether a new pod did after this second, whatever its set has told."""
    return any(at > since for at in _ready_times(view, new))


def _ready_times(view: Reading, new: ReplicaSet | None) -> Iterator[float]:
    """Since when new pods are ready. That old ones come and go, which shows in the same counters, is no progress."""
    for pod in view.owned(PODS, new.metadata.uid, new.metadata.namespace) if new is not None else ():
        if pod.live and pod.ready_since:
            yield parse_time(pod.ready_since)


def pause_due_at(view: Reading, deployment: Deployment, status: DeploymentStatus, now: float) -> float:
    """When a rollout that is late already will be paused; 0 if that is not ahead."""
    late = _late(status)
    allowed = (
        Evidence(view.get(EVIDENCE_POLICIES, "", rows.NAME)).allows(rows.ROLLOUT_LATE, rows.PAUSE_EXPANSION)
        if late is not None
        else None
    )
    if late is None or allowed is None:
        return 0.0
    due = _late_since(deployment, now) + allowed.after_seconds
    return due if now < due < NEVER else 0.0


def is_late(deployment: Deployment) -> bool:
    return _late(deployment.status) is not None


def is_held(status: DeploymentStatus, new: ReplicaSet | None) -> bool:
    """Whether the rollout to this very set is paused for being late."""
    late = _late(status)
    return (
        late is not None and new is not None and is_paused(late) and f'"{new.metadata.name}"' in late.message
    )


def late_notes(deployment: Deployment, status: DeploymentStatus) -> tuple[EventNote, ...]:
    """One Event when a rollout becomes late, one when it is paused for it; told with the report, the first effect."""
    late, before = _late(status), _late(deployment.status)
    if late is None or (before is not None and before.message == late.message):
        return ()
    return (EventNote(regarding_of(DEPLOYMENTS, deployment.metadata), WARNING, LATE, late.message, 0),)


def _late(status: DeploymentStatus) -> Condition | None:
    return next(
        (each for each in status.conditions if each.type == PROGRESSING and each.reason == LATE), None
    )


def is_paused(late: Condition) -> bool:
    return "(EvidencePolicy/" in late.message


def _late_since(deployment: Deployment, now: float) -> float:
    current = condition(deployment, PROGRESSING)
    if current is None or current.reason != LATE or not current.last_transition_time:
        return now
    return parse_time(current.last_transition_time)


# Out of reach


def hold_back(view: Reading, sets: Sequence[ReplicaSet], plan: Plan) -> tuple[Sizes, bool]:
    """The sizes of a plan, in which nothing shrinks on account of pods that are out of reach; and whether that made
    a difference, which passes without any set telling so."""
    sizes = plan(_as_told)
    if not any(sizes.get(each.metadata.name, each.spec.replicas) < each.spec.replicas for each in sets):
        return sizes, False
    safe = plan(lambda found: _in_reach(view, found))
    return safe, safe != sizes


def _as_told(found: ReplicaSet) -> ReplicaSet:
    return found


def _in_reach(view: Reading, found: ReplicaSet) -> ReplicaSet:
    """The set with no more pods available than are ready where somebody can see them."""
    told = found.status.available_replicas
    if not told:
        return found
    sound = lost = 0
    for pod in view.owned(PODS, found.metadata.uid, found.metadata.namespace):
        if pod.live and pod.ready:
            if is_out_of_reach(view, pod):
                lost += 1
            else:
                sound += 1
    left = max(0, min(told - lost, sound))
    if left == told:
        return found
    return structs.replace(found, status=structs.replace(found.status, available_replicas=left))

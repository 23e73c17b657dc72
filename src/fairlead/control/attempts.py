"""What is left of an attempt to place a pod: a record, effects, events. Called by `placing.py` alone.

A batch has one record with what its attempts share: the revisions read, the policy, what was assumed; each attempt one
with its outcome. Together they are all that is needed to run the batch again on the store's history (laws.md 9). Who
reads an attempt's gets what is shared with it (`batch_lines.py`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

import msgspec
from msgspec import structs

from fairlead.control.merging import Attempts
from fairlead.control.record import LOOKED_UP
from fairlead.control.turn import Turn
from fairlead.core import codec
from fairlead.core.times import microtime, timestamp
from fairlead.decision.contract import EventNote, Regarding
from fairlead.decision.effects import Bind, ChangeStatus, Delete, Effect, delete_object, identity, premise_of
from fairlead.decision.ensure import ensure_status
from fairlead.model.kinds.recordingpolicy import FULL
from fairlead.model.premise import Premise
from fairlead.model.reasons import (
    NOMINATED,
    QUEUED,
    RETRYING,
    SCHEDULED,
    UNSCHEDULABLE,
    most_concerned,
    owner_of,
)
from fairlead.model.views import PODS, Condition, Pod
from fairlead.schedule.contract import FilterRefusal, SchedulingAttempt, Scored, Stage, Victim
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot
from fairlead.schedule.waiting import TakenPod

SCHEDULER = "scheduler"
_SCHEDULED = "PodScheduled"
PREEMPTED = "PreemptionByScheduler"  # why a victim's DisruptionTarget is true
_PREEMPTED_TEXT = "default-scheduler: preempting to accommodate a higher priority pod"

Reads = dict[str, list[int]]  # resource -> [revision used, newest known then]


class AttemptBatch(msgspec.Struct, frozen=True):
    """What the attempts of a batch share: in its record, once."""

    number: int
    time: str
    policy: msgspec.Raw
    reads: msgspec.Raw


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt's record, as it is written."""

    id: str
    time: str
    controller: str
    object: str
    uid: str
    generation: int
    verdict: str
    attempt: int
    waited: float
    cause: str
    batch: int
    position: int
    nodes: int
    node: str = ""
    nominated: str = ""
    reason: str = ""
    waterfall: tuple[Stage, ...] = ()
    refusals: tuple[FilterRefusal, ...] = ()
    best: tuple[Scored, ...] = ()
    victims: tuple[Victim, ...] = ()
    about: tuple[str, ...] = ()  # other objects that it touches
    attempts: tuple[int, int] | None = None  # blocked ones that said the same
    detail: str = ""  # where it is not Full


def batch_of(number: int, policy: Policy, reads: Reads, now: float) -> AttemptBatch:
    return AttemptBatch(
        number,
        microtime(now),
        msgspec.Raw(codec.encode([policy.name, policy.revision])),
        msgspec.Raw(codec.encode(reads)),
    )


def batch_record(batch: AttemptBatch, pods: Sequence[TakenPod], snapshot: Snapshot) -> bytes:
    return codec.encode(
        {
            "time": batch.time,
            "controller": SCHEDULER,
            "batch": batch.number,
            "policy": batch.policy,
            "reads": batch.reads,
            "pods": [_version(taken.pod) for taken in pods],
            "assumed": [
                f"{key.namespace}/{key.name}@{placed.node}{'?' if placed.nominated else ''}"
                for key, placed in snapshot.assumed.items()
            ],
        }
    )


def record_for(
    batch: AttemptBatch,
    position: int,
    taken: TakenPod,
    attempt: SchedulingAttempt,
    decision: str,
    attempts: Attempts | None = None,
    level: str = FULL,
) -> bytes:
    """`decision`: its id. `level`: without Full it does not say how it came about (`recording.py`)."""
    full = level == FULL
    return codec.encode(
        _Line(
            id=decision,
            time=batch.time,
            controller=SCHEDULER,
            object="/".join(attempt.key),
            uid=attempt.uid,
            generation=taken.pod.metadata.generation,
            about=(f"nodes/{attempt.node}",) if attempt.node else _evicted(attempt),
            verdict="Placed" if attempt.node else UNSCHEDULABLE,
            attempt=taken.attempts,
            waited=round(taken.waited_seconds, 6),
            cause=taken.woken_by,
            batch=batch.number,
            position=position,
            nodes=attempt.nodes,
            node=attempt.node,
            nominated=attempt.nominated,
            reason=attempt.message,
            waterfall=attempt.waterfall if full else (),
            refusals=attempt.refusals if full else (),
            best=attempt.best if full else (),
            victims=attempt.victims,
            attempts=attempts,
            detail="" if full else level,
        )
    )


def said_of(attempt: SchedulingAttempt, taken: TakenPod, policy: Policy) -> Hashable:
    """All in which a blocked attempt may differ from the one before."""
    meta = taken.pod.metadata
    return meta.uid, meta.generation, policy.identity, attempt.message, attempt.waterfall


def _evicted(attempt: SchedulingAttempt) -> tuple[str, ...]:
    return tuple(["/".join(each.key) for each in attempt.victims])


def outcome_record(turn: Turn, taken: TakenPod, outcome: str, reads: Reads, now: float) -> bytes:
    """What became of it where it was not simply carried out: why, and what is known by now of all that it was decided
    on."""
    return codec.encode(
        {
            "of": turn.id,
            "outcome": outcome,
            "time": microtime(now),
            "controller": SCHEDULER,
            "object": "/".join(turn.key),
            "uid": taken.pod.metadata.uid,
            "verdict": _became(turn, outcome),
            "attempt": taken.attempts,
            "reason": turn.trouble,
            "reads": reads,
        }
    )


def _became(turn: Turn, outcome: str) -> str:
    binds = isinstance(turn.decision.effects[0], Bind)
    if outcome == LOOKED_UP:
        return "Bound" if binds else "Told"
    return "NotBound" if binds else "NotTold"


def bind_pod(pod: Pod, node: str, reservation: str = "") -> Bind:
    meta = pod.metadata
    label = identity(SCHEDULER, meta.uid, "bind")
    return Bind(
        identity=label,
        resource=PODS.name,
        api_version="v1",
        plural="pods",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        node=node,
        reservation=reservation,
    )


def mark_unschedulable(pod: Pod, attempt: SchedulingAttempt, now: float) -> ChangeStatus | None:
    """PodScheduled=False with what the attempt says, who may react to it, and the node it waits for; None if that is
    what the pod says already."""
    message, nominated = attempt.message, attempt.nominated
    owner = _owner(attempt)
    known = next((each for each in pod.status.conditions if each.type == _SCHEDULED), None)
    said = (known.status, known.reason, known.message) if known is not None else None
    conditions = pod.status.conditions
    if said != ("False", UNSCHEDULABLE, message) or (known is not None and known.owner not in ("", owner)):
        since = (
            known.last_transition_time if known is not None and known.status == "False" else timestamp(now)
        )
        condition = Condition(_SCHEDULED, "False", UNSCHEDULABLE, message, since, owner=owner)
        conditions = (*(each for each in conditions if each.type != _SCHEDULED), condition)
    wanted = structs.replace(pod.status, conditions=conditions, nominated_node_name=nominated)
    return ensure_status(SCHEDULER, PODS, pod, wanted)


def _owner(attempt: SchedulingAttempt) -> str:
    if attempt.nominated:
        return owner_of(SCHEDULED, NOMINATED)
    return most_concerned([(each.nodes, each.concerns) for each in attempt.refusals], attempt.nodes)


def mark_retrying(pod: Pod, attempt: int, why: str, now: float) -> tuple[ChangeStatus | None, EventNote]:
    """What readers of a pod are told while a binding is tried again that was refused, or that nobody answered."""
    meta, message = pod.metadata, f"{why} (attempt {attempt})"
    known = next((each for each in pod.status.conditions if each.type == _SCHEDULED), None)
    since = known.last_transition_time if known is not None and known.status == "False" else timestamp(now)
    condition = Condition(_SCHEDULED, "False", RETRYING, message, since, owner=owner_of(QUEUED, RETRYING))
    others = (each for each in pod.status.conditions if each.type != _SCHEDULED)
    wanted = structs.replace(pod.status, conditions=(*others, condition))
    regarding = Regarding("v1", "Pod", meta.namespace, meta.name, meta.uid)
    return ensure_status(SCHEDULER, PODS, pod, wanted), EventNote(regarding, "Warning", RETRYING, message)


def plan_evictions(
    preemptor: Pod, victims: Iterable[Pod], now: float, rests_on: tuple[Premise, ...] = ()
) -> Iterator[Effect]:
    """Each says why it goes, then goes; only while the preemptor is there and still waits (its premise), and while
    that holds on which its priority rests."""
    premises = (premise_of(PODS, preemptor.metadata), *rests_on)
    target = Condition("DisruptionTarget", "True", PREEMPTED, _PREEMPTED_TEXT, timestamp(now))
    for pod in victims:
        meta, status = pod.metadata, pod.status
        if not any(each.type == target.type and each.status == "True" for each in status.conditions):
            others = tuple(each for each in status.conditions if each.type != target.type)
            mark = ensure_status(SCHEDULER, PODS, pod, structs.replace(status, conditions=(*others, target)))
            assert mark is not None
            yield structs.replace(mark, premises=premises)
        label = identity(SCHEDULER, meta.uid, "preempt", preemptor.metadata.uid)
        yield delete_object(label, PODS, meta, premises=premises)


def notes_for(pod: Pod, attempt: SchedulingAttempt, effects: Sequence[Effect]) -> tuple[EventNote, ...]:
    meta = pod.metadata
    regarding = Regarding("v1", "Pod", meta.namespace, meta.name, meta.uid)
    if attempt.node:
        text = f"Successfully assigned {meta.namespace}/{meta.name} to {attempt.node}"
        return (EventNote(regarding, "Normal", "Scheduled", text, after=0),)
    notes = [EventNote(regarding, "Warning", "FailedScheduling", attempt.message)]
    for place, effect in enumerate(effects):
        if isinstance(effect, Delete):
            victim = Regarding("v1", "Pod", effect.namespace, effect.name, effect.uid)
            text = f"Preempted by pod {meta.uid} on node {attempt.nominated}"
            notes.append(EventNote(victim, "Normal", "Preempted", text, after=place))
    return tuple(notes)


def _version(pod: Pod) -> str:
    meta = pod.metadata
    return f"{meta.namespace}/{meta.name}@{meta.resource_version}"

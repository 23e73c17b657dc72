"""The Job controller: runs pods to their end, so many times, and says when that is done or hopeless.

One turn does the first of these that is needed, and the change it makes brings the next turn:

    write the status that was observed      (counting included: job_status.py)
    release pods that were counted          (remove their finalizer)
    delete pods that were given up
    the Job is over: delete what still runs
    too many: give up the surplus           (remove their finalizer)
    too few: create the missing, unless a failure was too recent

A Job that is finished is deleted when its time to live is over. Pods whose Job is gone: `job_orphans.py`. Not covered:
backoffLimitPerIndex, podFailurePolicy and successPolicy are stored but not acted upon.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from fairlead.core.times import parse_time
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Decision, Reading, Waiting
from fairlead.decision.effects import Effect
from fairlead.decision.ensure import ensure_child, ensure_gone, ensure_status
from fairlead.model.views import JOBS, PODS, Job, Pod, Resource, View
from fairlead.reconcile.children import is_controlled_by
from fairlead.reconcile.job_pods import (
    Crew,
    backoff_until,
    crew_of,
    excess,
    index_of,
    indexed_slots,
    is_indexed,
    pod_body,
    released,
    slots,
)
from fairlead.reconcile.job_status import (
    Account,
    account_of,
    deadline_of,
    ending_of,
    finished_condition,
    releasable,
    wanted_status,
)
from fairlead.store.contract import Key

_OURS = ("", "kubernetes.io/job-controller")
_NAME = "job"


class JobDecider:
    name = _NAME
    reads: tuple[Resource[View], ...] = (JOBS, PODS)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        newest = after if after is not None else before
        if isinstance(newest, Job):
            return (Key(JOBS.name, newest.metadata.namespace, newest.metadata.name),)
        owner = newest.metadata.controller if isinstance(newest, Pod) else None
        if owner is None or owner.kind != JOBS.kind or not isinstance(newest, Pod):
            return ()
        return (Key(JOBS.name, newest.metadata.namespace, owner.name),)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        job = view.get(JOBS, key.namespace, key.name)
        if job is None or job.spec.managed_by not in _OURS:
            return NOTHING
        owned = view.owned(PODS, job.metadata.uid)
        pods = [pod for pod in owned if is_controlled_by(pod, job.metadata)]
        if job.metadata.deletion_timestamp:
            return Decision(effects=_release(job, pods))
        if finished_condition(job) is not None:
            return _finished(job, pods, now)
        return _running(view, job, pods, now)


def _release(job: Job, pods: Iterable[Pod]) -> tuple[Effect, ...]:
    effects = (released(_NAME, job.metadata, pod) for pod in pods)
    return tuple(islice((effect for effect in effects if effect is not None), EFFECTS_MAX))


def _delete(job: Job, pods: Iterable[Pod]) -> tuple[Effect, ...]:
    effects = (ensure_gone(_NAME, job.metadata, PODS, pod) for pod in islice(pods, EFFECTS_MAX))
    return tuple(effect for effect in effects if effect is not None)


def _finished(job: Job, pods: Sequence[Pod], now: float) -> Decision:
    """Let the pods go, then the Job itself when it has been kept for as long as it asked for."""
    freed = _release(job, pods)
    ended, kept_seconds = finished_condition(job), job.spec.ttl_seconds_after_finished
    if freed or kept_seconds is None or ended is None:
        return Decision(effects=freed)
    due = parse_time(ended.last_transition_time) + kept_seconds
    if now < due:
        return Decision(Waiting("TTLAfterFinished"), again_at=due)
    gone = ensure_gone(_NAME, job.metadata, JOBS, job, "Foreground")
    return Decision(effects=(gone,) if gone else ())


def _running(view: Reading, job: Job, pods: Sequence[Pod], now: float) -> Decision:
    crew = crew_of(job, pods)
    account = account_of(job, pods, crew)
    ending = ending_of(job, account, crew, now)
    status = ensure_status(_NAME, JOBS, job, wanted_status(job, account, crew, ending, now))
    if status is not None:
        return Decision(Waiting("StatusBehind"), (status,))
    effects = _release(job, releasable(job, crew)) or _delete(job, crew.abandoned)
    if effects:
        return Decision(Waiting("Accounting"), effects)
    if ending is not None:
        return Decision(Waiting(ending.reason, ending.message), _delete(job, crew.active))
    return _staffed(view, job, pods, crew, account, now)


def _staffed(
    view: Reading, job: Job, pods: Sequence[Pod], crew: Crew, account: Account, now: float
) -> Decision:
    """As many pods at work as the Job wants now."""
    wanted = _wanted(job, account, crew)
    deadline = deadline_of(job)
    surplus = excess(job, crew.active, account.completed, wanted)
    if surplus:
        return Decision(Waiting("TooManyPods"), _release(job, surplus), deadline)
    replaced_late = job.spec.pod_replacement_policy == "Failed"
    occupied = len(crew.active) + (len(crew.terminating) if replaced_late else 0)
    missing = min(wanted - occupied, EFFECTS_MAX)
    if missing <= 0:
        if job.spec.suspend:
            return Decision(SETTLED)
        return Decision(Waiting("PodsRunning"), again_at=deadline)
    again_at = backoff_until(pods)
    if again_at > now:
        until = min(again_at, deadline) if deadline else again_at
        return Decision(Waiting("BackOff", "a pod failed recently"), again_at=until)
    busy = crew.active + (crew.terminating if replaced_late else ())
    effects = _create(view, job, account, busy, missing)
    return Decision(Waiting("CreatingPods"), effects, deadline)


def _create(
    view: Reading, job: Job, account: Account, busy: Sequence[Pod], missing: int
) -> tuple[Effect, ...]:
    namespace = job.metadata.namespace

    def is_taken(name: str) -> bool:
        return view.get(PODS, namespace, name) is not None

    if is_indexed(job):
        found = indexed_slots(job, is_taken, account.completed, frozenset(map(index_of, busy)))
    else:
        found = slots(job, is_taken, account.successes + account.failures)
    creates = (
        ensure_child(_NAME, job.metadata, PODS, None, pod_body(job, slot), slot.occasion)
        for slot in islice(found, missing)
    )
    return tuple(each for each in creates if each is not None)


def _wanted(job: Job, account: Account, crew: Crew) -> int:
    spec = job.spec
    if spec.suspend:
        return 0
    if spec.completions is None:
        return len(crew.active) if account.successes else spec.parallelism
    done = len(account.completed) if is_indexed(job) else account.successes
    return min(spec.completions - done, spec.parallelism)

"""The Job controller: runs pods to their end, so many times, and says when that is done or hopeless.

One turn does the first of these that is needed, and the change it makes brings the next turn:

    write the status that was observed      (counting included: status.py)
    release pods that were counted          (remove their finalizer)
    delete pods that were given up
    the Job is over: delete what still runs
    too many: give up the surplus           (remove their finalizer, with a mark)
    too few: create the missing, unless a failure was too recent

Pods are created only while the Job, its status included, is as it was decided on: a request that arrives late, after
the Job has counted or ended, comes to nothing (docs/adr/0010). A Job that is finished is deleted when its time to live
is over. Policies for failures and success: `policies.py`; limits per index: `indexes.py`. Pods whose Job is
gone: `orphans.py`. A Job that names another manager (spec.managedBy) is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from msgspec import structs

from fairlead.core.times import parse_time
from fairlead.decision.contract import (
    EFFECTS_MAX,
    NOTHING,
    SETTLED,
    Decision,
    EventNote,
    Reading,
    Refusal,
    Waiting,
)
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import Effect, premise_of
from fairlead.decision.ensure import ensure_child, ensure_gone, ensure_status
from fairlead.decision.notes import note_children, note_failure, regarding_of
from fairlead.decision.predicates import OWNED
from fairlead.decision.wakes import by_controller, workload_itself
from fairlead.model.key import Key
from fairlead.model.views import JOBS, PODS, Job, Pod
from fairlead.reconcile.children import is_controlled_by
from fairlead.reconcile.job.indexes import due_after, is_per_index, newest_by_index, noted_after
from fairlead.reconcile.job.pods import (
    Crew,
    Slot,
    backoff_until,
    choose_excess,
    crew_of,
    index_of,
    indexed_slots,
    is_indexed,
    lost_pods,
    pair_with_lost,
    pod_body,
    release_pod,
    slots,
)
from fairlead.reconcile.job.status import (
    JobAccount,
    account_of,
    choose_releasable,
    deadline_of,
    ending_of,
    finished_condition,
    list_news,
    wanted_status,
)
from fairlead.reconcile.waiting import add_waiting, drop_waiting

_OURS = ("", "kubernetes.io/job-controller")
_NAME = "job"


def job_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(JOBS, PODS),
        wakes=(Wake(JOBS, workload_itself), Wake(PODS, by_controller(JOBS), when=OWNED)),
        decide=_decide,
        refused=_refused,
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
    job = view.get(JOBS, key.namespace, key.name)
    if job is None or job.spec.managed_by not in _OURS:
        return NOTHING
    owned = view.owned(PODS, job.metadata.uid, key.namespace)
    pods = [pod for pod in owned if is_controlled_by(pod, job.metadata)]
    if job.metadata.deletion_timestamp:
        return Decision(effects=_release(job, pods))
    if finished_condition(job) is not None:
        return _finished(job, pods, now)
    return _running(view, job, pods, now)


def _refused(view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
    """Its pods were reported before they were refused; what they wait for is left to say."""
    job = view.get(JOBS, key.namespace, key.name)
    if job is None:
        return NOTHING
    conditions = add_waiting(job.status.conditions, refusal, job.metadata.name, now)
    report = ensure_status(_NAME, JOBS, job, structs.replace(job.status, conditions=conditions))
    notes = note_failure(regarding_of(JOBS, job.metadata), refusal.effect, refusal.message)
    return Decision(effects=(report,) if report is not None else (), events=notes)


def _release(job: Job, pods: Iterable[Pod], given_up: bool = False) -> tuple[Effect, ...]:
    premises = (premise_of(JOBS, job.metadata),)
    effects = (release_pod(_NAME, job.metadata, pod, premises, given_up) for pod in pods)
    return tuple(islice((effect for effect in effects if effect is not None), EFFECTS_MAX))


def _delete(job: Job, pods: Iterable[Pod]) -> tuple[Effect, ...]:
    premises = (premise_of(JOBS, job.metadata),)
    effects = (
        ensure_gone(_NAME, job.metadata, PODS, pod, premises=premises) for pod in islice(pods, EFFECTS_MAX)
    )
    return tuple(effect for effect in effects if effect is not None)


def _finished(job: Job, pods: Sequence[Pod], now: float) -> Decision:
    """Let the pods go, then the Job itself when it has been kept for as long as it asked for."""
    freed = _release(job, pods) or _delete(job, lost_pods(pods))
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
    wanted = wanted_status(job, account, crew, ending, now)
    if ending is not None or _wanted(job, account, crew) <= len(crew.active):
        wanted = structs.replace(wanted, conditions=drop_waiting(wanted.conditions))
    status = ensure_status(_NAME, JOBS, job, wanted, always=("ready", "terminating"))
    if status is not None:
        return Decision(Waiting("StatusBehind"), (status,), events=list_news(job, wanted))
    effects = _release(job, choose_releasable(job, pods, crew)) or _delete(job, crew.abandoned)
    if effects:
        return Decision(Waiting("Accounting"), effects, events=_notes(job, effects))
    if ending is not None:
        effects = _delete(job, (*crew.active, *lost_pods(pods)))
        return Decision(Waiting(ending.reason, ending.message), effects, events=_notes(job, effects))
    return _staffed(view, job, pods, crew, account, now)


def _staffed(
    view: Reading, job: Job, pods: Sequence[Pod], crew: Crew, account: JobAccount, now: float
) -> Decision:
    """As many pods at work as the Job wants now."""
    wanted = _wanted(job, account, crew)
    deadline = deadline_of(job)
    surplus = choose_excess(job, crew.active, account.completed | account.hopeless, wanted)
    if surplus:
        return Decision(Waiting("TooManyPods"), _release(job, surplus, given_up=True), deadline)
    replaced_late = job.spec.pod_replacement_policy == "Failed"
    busy = crew.active + (crew.terminating if replaced_late else ())
    missing = min(wanted - len(busy), EFFECTS_MAX)
    if missing <= 0:
        # Nobody will take the place of those that were released: others may need their quota.
        gone = () if replaced_late else _delete(job, lost_pods(pods))
        if job.spec.suspend:
            return Decision(SETTLED, gone)
        return Decision(Waiting("PodsRunning"), gone, deadline)
    slots, due = _slots(view, job, account, pods, busy, now)
    premise = premise_of(JOBS, job.metadata)
    creates = (
        ensure_child(
            _NAME,
            job.metadata,
            PODS,
            None,
            pod_body(job, slot),
            slot.occasion,
            (premise,) if lost is None else (premise, premise_of(PODS, lost.metadata)),
        )
        for slot, lost in islice(pair_with_lost(pods, slots), missing)
    )
    effects = tuple(each for each in creates if each is not None)
    again_at = min((at for at in (due, deadline) if at), default=0.0)
    if not effects:
        return Decision(Waiting("BackOff", "a pod failed recently"), again_at=again_at)
    return Decision(Waiting("CreatingPods"), effects, again_at, _notes(job, effects))


def _notes(job: Job, effects: Sequence[Effect]) -> tuple[EventNote, ...]:
    return note_children(regarding_of(JOBS, job.metadata), effects)


def _slots(
    view: Reading, job: Job, account: JobAccount, pods: Sequence[Pod], busy: Sequence[Pod], now: float
) -> tuple[Iterable[Slot], float]:
    """Pods that may be made now, and when there may be more because a failure will be long enough ago."""
    namespace = job.metadata.namespace

    def is_taken(name: str) -> bool:
        return view.get(PODS, namespace, name) is not None

    settled = account.completed | account.hopeless | frozenset(map(index_of, busy))
    if is_per_index(job):
        newest = newest_by_index(pods)
        found = [(due_after(newest.get(slot.number)), slot) for slot in indexed_slots(job, is_taken, settled)]
        ready = (
            slot._replace(notes=noted_after(job, newest.get(slot.number))) for at, slot in found if at <= now
        )
        return ready, min((at for at, _ in found if at > now), default=0.0)
    due = backoff_until(pods)
    if due > now:
        return (), due
    if is_indexed(job):
        return indexed_slots(job, is_taken, settled), 0.0
    return slots(job, is_taken, account.successes + account.failures), 0.0


def _wanted(job: Job, account: JobAccount, crew: Crew) -> int:
    spec = job.spec
    if spec.suspend:
        return 0
    if spec.completions is None:
        return len(crew.active) if account.successes else spec.parallelism
    done = len(account.completed) + len(account.hopeless) if is_indexed(job) else account.successes
    return min(spec.completions - done, spec.parallelism)

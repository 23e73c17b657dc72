"""What a Job's status should say: how often it succeeded and failed, and whether that is the end.

Counting takes three turns per pod that ended, each repeatable after a crash:

    1. its uid goes into `uncountedTerminatedPods` (an index that succeeded goes into `completedIndexes` instead; one
       that is given up into `failedIndexes` as well)
    2. its tracking finalizer is removed; from now on the pod may vanish
    3. its uid leaves the list and the counter grows by one, in one write

A uid in the list whose pod has no finalizer, or is gone, is counted; one whose pod has it is not yet. Pure; called by
`decider.py`, which writes the status whenever it differs from what is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import EventNote
from fairlead.decision.notes import NORMAL, WARNING, regarding_of
from fairlead.model.reasons import SUSPENDED, owner_told
from fairlead.model.views import JOBS, Condition, Job, JobStatus, Json, Pod
from fairlead.reconcile.job.indexes import gives_up, is_per_index, newest_by_index
from fairlead.reconcile.job.pods import Crew, index_of, is_indexed, is_tracked
from fairlead.reconcile.job.policies import format_indexes, judge_failure, parse_indexes, success_of

#: bound: plane | ended pods of a Job that are being counted | the rest is counted in the next turn
UNCOUNTED_MAX = 500
# Which condition announces an end, and which confirms it once no pod is left.
ANNOUNCED = {"FailureTarget": "Failed", "SuccessCriteriaMet": "Complete"}


class JobAccount(NamedTuple):
    succeeded: int  # counted for good
    failed: int
    pending_succeeded: tuple[str, ...]  # uids on their way into the counter
    pending_failed: tuple[str, ...]
    completed: frozenset[int]
    hopeless: frozenset[int]  # indexes that will not be tried again

    @property
    def successes(self) -> int:
        return self.succeeded + len(self.pending_succeeded)

    @property
    def failures(self) -> int:
        return self.failed + len(self.pending_failed)


class JobEnding(NamedTuple):
    """Why a Job is over, and how. `announced` is FailureTarget or SuccessCriteriaMet."""

    announced: str
    reason: str
    message: str


def account_of(job: Job, pods: Sequence[Pod], crew: Crew) -> JobAccount:
    status = job.status
    listed = status.uncounted_terminated_pods
    listed_good, listed_bad = listed.get("succeeded") or (), listed.get("failed") or ()
    tracked = {pod.metadata.uid for pod in pods if is_tracked(pod)}
    good = [uid for uid in listed_good if uid in tracked]
    bad = [uid for uid in listed_bad if uid in tracked]
    succeeded = status.succeeded + len(listed_good) - len(good)
    failed = status.failed + len(listed_bad) - len(bad)
    known = {*good, *bad}
    completed = frozenset[int]()
    if is_indexed(job):
        below = job.spec.completions or 0
        completed = parse_indexes(status.completed_indexes, below)
        completed |= {index_of(pod) for pod in crew.succeeded if pod.metadata.uid not in known}
        succeeded = max(status.succeeded, len(completed))
    else:
        good += [pod.metadata.uid for pod in crew.succeeded if pod.metadata.uid not in known]
    bad += [pod.metadata.uid for pod in crew.failed if pod.metadata.uid not in known]
    good = good[:UNCOUNTED_MAX]
    bad = bad[: UNCOUNTED_MAX - len(good)]
    hopeless = _hopeless(job, crew, completed) if is_per_index(job) else frozenset[int]()
    return JobAccount(
        succeeded=succeeded,
        failed=failed,
        pending_succeeded=tuple(good),
        pending_failed=tuple(bad),
        completed=completed,
        hopeless=hopeless,
    )


def _hopeless(job: Job, crew: Crew, completed: frozenset[int]) -> frozenset[int]:
    """Pods that a Job takes along in its end do not make their indexes failed ones."""
    known = parse_indexes(job.status.failed_indexes, job.spec.completions or 0)
    if _announced(job) is None:
        known |= {index_of(pod) for pod in crew.failed if gives_up(job, pod)}
    return known - completed


def choose_releasable(job: Job, pods: Iterable[Pod], crew: Crew) -> list[Pod]:
    """Pods whose end the stored status knows, strays and ignored ones: their finalizer has done its work."""
    listed = job.status.uncounted_terminated_pods
    known = {*(listed.get("succeeded") or ()), *(listed.get("failed") or ())}
    below = job.spec.completions or 0
    done = parse_indexes(job.status.completed_indexes, below) if is_indexed(job) else frozenset[int]()
    released = [pod for pod in crew.succeeded if pod.metadata.uid in known or index_of(pod) in done]
    failed = [*(pod for pod in crew.failed if pod.metadata.uid in known), *crew.ignored]
    if is_per_index(job) and _announced(job) is None:
        # The newest failure of an index is what its next pod is counted on from.
        over = done | parse_indexes(job.status.failed_indexes, below)
        newest = newest_by_index(pods)
        failed = [pod for pod in failed if index_of(pod) in over or newest[index_of(pod)] is not pod]
    return [*released, *failed, *crew.strays]


def is_true(job: Job, kind: str) -> Condition | None:
    for condition in job.status.conditions:
        if condition.type == kind and condition.status == "True":
            return condition
    return None


def finished_condition(job: Job) -> Condition | None:
    return is_true(job, "Complete") or is_true(job, "Failed")


def ending_of(job: Job, account: JobAccount, crew: Crew, now: float) -> JobEnding | None:
    """Whether the Job is over; once announced, an ending stays."""
    ending = _announced(job) or _failing(job, account, crew, now)
    if ending is not None:
        return ending
    met = success_of(job, account.completed)
    if met:
        return JobEnding("SuccessCriteriaMet", "SuccessPolicy", met)
    if _is_complete(job, account, crew):
        return JobEnding(
            "SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods"
        )
    return None


def _announced(job: Job) -> JobEnding | None:
    for announced in ANNOUNCED:
        condition = is_true(job, announced)
        if condition is not None:
            return JobEnding(announced, condition.reason, condition.message)
    return None


def _failing(job: Job, account: JobAccount, crew: Crew, now: float) -> JobEnding | None:
    spec, said = job.spec, "FailureTarget"
    for pod in crew.failed:
        judgement = judge_failure(job, pod)
        if judgement.action == "FailJob":
            return JobEnding(said, "PodFailurePolicy", judgement.message)
    if account.failures > spec.backoff_limit or _restarted_too_often(job, crew.active):
        return JobEnding(said, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    deadline = deadline_of(job)
    if deadline and now >= deadline:
        return JobEnding(said, "DeadlineExceeded", "Job was active longer than specified deadline")
    hopeless = len(account.hopeless)
    if spec.max_failed_indexes is not None and hopeless > spec.max_failed_indexes:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return JobEnding(said, "MaxFailedIndexesExceeded", message)
    if hopeless and hopeless + len(account.completed) >= (spec.completions or 0):
        return JobEnding(said, "FailedIndexes", "Job has failed indexes")
    return None


def deadline_of(job: Job) -> float:
    """When the Job will have been active for too long; 0 for never. A suspended Job's clock does not run."""
    spec, started = job.spec, job.status.start_time
    if spec.active_deadline_seconds is None or spec.suspend or not started:
        return 0.0
    return parse_time(started) + spec.active_deadline_seconds


def _is_complete(job: Job, account: JobAccount, crew: Crew) -> bool:
    if job.spec.completions is None:
        # A work queue: one that succeeded says that the work is done; the others are let finish.
        return account.successes > 0 and not crew.active
    done = len(account.completed) if is_indexed(job) else account.successes
    return done >= job.spec.completions


def _restarted_too_often(job: Job, active: Iterable[Pod]) -> bool:
    """Containers that restart in place (OnFailure) use up the backoff limit too."""
    if (job.spec.template.get("spec") or {}).get("restartPolicy") != "OnFailure":
        return False
    restarts = sum(
        int(each.get("restartCount") or 0) for pod in active for each in pod.status.container_statuses
    )
    return restarts > 0 and restarts >= job.spec.backoff_limit


def wanted_status(
    job: Job, account: JobAccount, crew: Crew, ending: JobEnding | None, now: float
) -> JobStatus:
    """The status that should be stored, complete."""
    status, at = job.status, timestamp(now)
    conditions, started = (
        _with_suspension(job, at) if ending is None else (status.conditions, status.start_time)
    )
    ended = status.completion_time
    if ending is not None:
        started = started or at
        conditions = _put(conditions, ending.announced, "True", ending.reason, ending.message, at)
        remain = crew.active or crew.abandoned or crew.terminating or crew.strays
        if not (
            remain
            or account.pending_succeeded
            or account.pending_failed
            or crew.succeeded
            or crew.failed
            or crew.ignored
        ):
            final = ANNOUNCED[ending.announced]
            conditions = _put(conditions, final, "True", ending.reason, ending.message, at)
            ended = at if final == "Complete" else ""
    uncounted: Json = {}
    if account.pending_succeeded:
        uncounted["succeeded"] = list(account.pending_succeeded)
    if account.pending_failed:
        uncounted["failed"] = list(account.pending_failed)
    return JobStatus(
        active=len(crew.active),
        ready=sum(pod.ready for pod in crew.active),
        terminating=len(crew.terminating),
        succeeded=account.succeeded,
        failed=account.failed,
        start_time=started,
        completion_time=ended,
        completed_indexes=format_indexes(account.completed),
        failed_indexes=format_indexes(account.hopeless),
        conditions=conditions,
        uncounted_terminated_pods=uncounted,
        progress=job.status.progress,
    )


def list_news(job: Job, wanted: JobStatus) -> tuple[EventNote, ...]:
    """What this status, once written, tells for the first time."""
    known, regarding = (
        {(each.type, each.status) for each in job.status.conditions},
        regarding_of(JOBS, job.metadata),
    )
    notes = []
    for each in wanted.conditions:
        if (each.type, each.status) in known:
            continue
        if each.type == "Complete":
            notes.append(EventNote(regarding, NORMAL, "Completed", "Job completed", 0))
        elif each.type == "Failed":
            notes.append(EventNote(regarding, WARNING, each.reason, each.message, 0))
        elif each.type == "Suspended":
            reason = "Suspended" if each.status == "True" else "Resumed"
            notes.append(EventNote(regarding, NORMAL, reason, each.message, 0))
    return tuple(notes)


def _with_suspension(job: Job, at: str) -> tuple[tuple[Condition, ...], str]:
    """Conditions and start time of a Job that goes on. Its clock starts anew when it is resumed."""
    conditions, started = job.status.conditions, job.status.start_time
    if job.spec.suspend:
        return _put(conditions, "Suspended", "True", SUSPENDED, "Job suspended", at), ""
    if is_true(job, "Suspended"):
        return _put(conditions, "Suspended", "False", "JobResumed", "Job resumed", at), at
    return conditions, started or at


def _put(
    conditions: tuple[Condition, ...], kind: str, status: str, reason: str, message: str, at: str
) -> tuple[Condition, ...]:
    """With this condition, in its old place; its time moves only when its status does."""
    for place, known in enumerate(conditions):
        if known.type == kind:
            if known.status == status:
                return conditions
            new = Condition(kind, status, reason, message, at, owner=owner_told(reason))
            return (*conditions[:place], new, *conditions[place + 1 :])
    return (*conditions, Condition(kind, status, reason, message, at, owner=owner_told(reason)))

"""Jobs with backoffLimitPerIndex: each index has its own limit and its own delays.

How often an index has failed is carried from pod to pod in annotations. The newest failed pod of an index therefore
keeps its finalizer until its successor is there or none will come: nobody can take the number away. Called by
`decider.py` and `status.py`; pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.model.views import Job, Pod
from fairlead.reconcile.job.pods import delay_after, finished_at, index_of, is_tracked
from fairlead.reconcile.job.policies import judge_failure

FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED = "batch.kubernetes.io/job-index-ignored-failure-count"


def is_per_index(job: Job) -> bool:
    return job.spec.backoff_limit_per_index is not None


def failures_before(pod: Pod) -> tuple[int, int]:
    """How often its index had failed when this pod was made: (counted, ignored)."""
    annotations = pod.metadata.annotations
    return _number(annotations.get(FAILURES, "")), _number(annotations.get(IGNORED, ""))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def gives_up(job: Job, pod: Pod) -> bool:
    """Whether this failed pod was the last try of its index."""
    limit = job.spec.backoff_limit_per_index
    if limit is None:
        return False
    return judge_failure(job, pod).action == "FailIndex" or failures_before(pod)[0] >= limit


def newest_by_index(pods: Iterable[Pod]) -> dict[int, Pod]:
    """The latest try of each index."""
    newest: dict[int, Pod] = {}
    for pod in pods:
        index = index_of(pod)
        known = newest.get(index)
        if known is None or _try(pod) > _try(known):
            newest[index] = pod
    return newest


def _try(pod: Pod) -> tuple[int, bool, bool]:
    """If two have the same number, the one that still runs is the later one, then the one that counts."""
    return sum(failures_before(pod)), pod.live, is_tracked(pod)


def has_failed(pod: Pod) -> bool:
    """Ended badly or deleted; not one that was given up, which loses its finalizer before it is deleted."""
    going = bool(pod.metadata.deletion_timestamp)
    return (pod.status.phase == "Failed" or going) and (is_tracked(pod) or not going)


def due_after(pod: Pod | None) -> float:
    """When the next try of an index may begin, after this one. Pods that were deleted delay nothing."""
    if pod is None or pod.status.phase != "Failed" or pod.metadata.deletion_timestamp:
        return 0.0
    return finished_at(pod) + delay_after(sum(failures_before(pod)) + 1)


def noted_after(job: Job, pod: Pod | None) -> dict[str, str]:
    """What the next pod of an index is annotated with, after this one."""
    failed, ignored = failures_before(pod) if pod is not None else (0, 0)
    if pod is not None and has_failed(pod):
        if judge_failure(job, pod).action == "Ignore":
            ignored += 1
        else:
            failed += 1
    return {FAILURES: str(failed), **({IGNORED: str(ignored)} if ignored else {})}

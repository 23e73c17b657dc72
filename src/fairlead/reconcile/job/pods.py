"""The pods of a Job: what each of them counts as, what the next is called, and what it is made of.

Called by `decider.py` and `status.py`; pure. A pod is tracked while it carries the finalizer
`batch.kubernetes.io/job-tracking`: it cannot vanish before the Job's status has counted it. A pod the controller
takes away itself (suspension, fewer wanted) loses the finalizer first and is deleted in a later turn, so it counts
as nothing; a live pod without the finalizer is therefore always one that was given up. It bears a mark from then on:
if it ends well before it is deleted, it looks like one whose finalizer somebody took away (`ledger/repair.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fairlead.core import ids
from fairlead.core.backoff import backoff
from fairlead.core.times import parse_time
from fairlead.decision.effects import Change
from fairlead.decision.ensure import ensure_fields
from fairlead.model.marks import GIVEN_UP, REPLACES
from fairlead.model.premise import Premises
from fairlead.model.views import JOBS, PODS, Job, Json, Meta, Pod
from fairlead.reconcile.children import from_template
from fairlead.reconcile.job.policies import judge_failure

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"

#: bound: plane | a failed pod of a Job is replaced after | twice as long after each further failure
BACKOFF_SECONDS = 10.0
#: bound: plane | the same at most | -
BACKOFF_SECONDS_MAX = 360.0


class Crew(NamedTuple):
    """A Job's pods by what they count as; every pod that still matters is in exactly one of the first six."""

    active: tuple[Pod, ...]  # live and tracked
    abandoned: tuple[Pod, ...]  # live, given up, to be deleted
    succeeded: tuple[Pod, ...]  # tracked, ended well
    failed: tuple[Pod, ...]  # tracked, ended badly or going before they ended
    strays: tuple[Pod, ...]  # tracked, ended, of no index that is wanted: released uncounted
    ignored: tuple[Pod, ...]  # tracked, ended badly, and the failure policy says to ignore that
    terminating: tuple[Pod, ...]  # deleted or released, and not ended; may be among the failed too


def is_indexed(job: Job) -> bool:
    return job.spec.completion_mode == "Indexed"


def is_tracked(pod: Pod) -> bool:
    return TRACKING in pod.metadata.finalizers


def index_of(pod: Pod) -> int:
    """The completion index of a pod; -1 if it has none that can be read."""
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def crew_of(job: Job, pods: Iterable[Pod]) -> Crew:
    indexed, completions = is_indexed(job), job.spec.completions or 0
    waits_for_end = job.spec.pod_replacement_policy == "Failed"
    active, abandoned, succeeded, failed, strays, ignored, terminating = _lists()
    for pod in pods:
        going = (bool(pod.metadata.deletion_timestamp) or pod.released) and not pod.finished
        if going:
            terminating.append(pod)
        if pod.live:
            (active if is_tracked(pod) else abandoned).append(pod)
        elif not is_tracked(pod):
            continue
        elif indexed and not 0 <= index_of(pod) < completions:
            strays.append(pod)
        elif pod.status.phase == "Succeeded":
            succeeded.append(pod)
        elif not going or not waits_for_end:
            (ignored if judge_failure(job, pod).action == "Ignore" else failed).append(pod)
    return Crew(*map(tuple, (active, abandoned, succeeded, failed, strays, ignored, terminating)))


def _lists() -> tuple[list[Pod], list[Pod], list[Pod], list[Pod], list[Pod], list[Pod], list[Pod]]:
    return [], [], [], [], [], [], []


def choose_excess(job: Job, active: Sequence[Pod], done: frozenset[int], wanted: int) -> list[Pod]:
    """Active pods that are too many, those first that lose least: not ready, youngest, last by name."""
    surplus: list[Pod] = []
    rest = sorted(active, key=_worth)
    if is_indexed(job):
        kept: list[Pod] = []
        taken: set[int] = set()
        completions = job.spec.completions or 0
        for pod in reversed(rest):
            index = index_of(pod)
            if index in taken or index in done or not 0 <= index < completions:
                surplus.append(pod)
            else:
                taken.add(index)
                kept.append(pod)
        rest = sorted(kept, key=index_of, reverse=True)
    return surplus + rest[: max(0, len(rest) - wanted)]


def _worth(pod: Pod) -> tuple[bool, bool, float, str]:
    born = parse_time(pod.metadata.creation_timestamp)
    return pod.ready, pod.status.phase == "Running", -born, pod.metadata.name


def backoff_until(pods: Iterable[Pod]) -> float:
    """Until when no pod is replaced: 10 s after a failure, doubled with each further one since the last success.

    Pods that were deleted did not fail by themselves and delay nothing.
    """
    ended = [pod for pod in pods if pod.finished and not pod.metadata.deletion_timestamp]
    failures = sorted(finished_at(pod) for pod in ended if pod.status.phase == "Failed")
    if not failures:
        return 0.0
    last_success = max((finished_at(pod) for pod in ended if pod.status.phase == "Succeeded"), default=0.0)
    count = sum(1 for at in failures if at > last_success)
    if not count:
        return 0.0
    return failures[-1] + delay_after(count)


def delay_after(failures: int) -> float:
    """How long the next pod waits after so many failures in a row."""
    return backoff(failures, BACKOFF_SECONDS, BACKOFF_SECONDS_MAX)


def finished_at(pod: Pod) -> float:
    ends = []
    for container in pod.status.container_statuses:
        terminated = (container.get("state") or {}).get("terminated") or {}
        if terminated.get("finishedAt"):
            ends.append(parse_time(terminated["finishedAt"]))
    if ends:
        return max(ends)
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.last_transition_time:
            return parse_time(condition.last_transition_time)
    return parse_time(pod.metadata.creation_timestamp)


def release_pod(
    controller: str, owner: Meta, pod: Pod, premises: Premises = (), given_up: bool = False
) -> Change | None:
    """Remove the finalizer: the pod may vanish from now on, and if it is given up it is marked so."""
    now = list(pod.metadata.finalizers)
    then = [name for name in now if name != TRACKING] or None
    current: Json = {"metadata": {"finalizers": now or None}}
    wanted: Json = {"metadata": {"finalizers": then}}
    if given_up:
        current["metadata"]["annotations"] = {GIVEN_UP: pod.metadata.annotations.get(GIVEN_UP)}
        wanted["metadata"]["annotations"] = {GIVEN_UP: "true"}
    return ensure_fields(
        controller, owner, PODS, pod, intent="release", current=current, wanted=wanted, premises=premises
    )


class Slot(NamedTuple):
    """A pod to be made: its name, what distinguishes it among the Job's pods, its completion index (-1: none), and
    what else is noted on it."""

    name: str
    occasion: str
    number: int
    notes: Mapping[str, str] = {}


def slots(job: Job, is_taken: Callable[[str], bool], started: int) -> Iterator[Slot]:
    """Names for the next pods of a Job without indexes, without end. `started` have been counted already: where
    the search for a free name begins, so that names of pods long gone are not used again."""
    used: set[str] = set()
    number = started
    while True:
        name = _name(job, "", number)
        if name not in used and not is_taken(name):
            used.add(name)
            yield Slot(name, str(number), -1)
        number += 1


def indexed_slots(job: Job, is_taken: Callable[[str], bool], settled: frozenset[int]) -> Iterator[Slot]:
    """Names for the indexes that need a pod, lowest first. `settled`: those that are done, hopeless or worked on."""
    for index in range(job.spec.completions or 0):
        if index in settled:
            continue
        attempt = 0
        while is_taken(name := _name(job, f"-{index}", attempt)):
            attempt += 1
        yield Slot(name, f"{index}.{attempt}", index)


def _name(job: Job, middle: str, number: int) -> str:
    """Depends on the Job's uid: pods of an earlier Job of this name, still on their way out, do not collide."""
    seed = f"{job.metadata.uid}{middle}/{number}".encode()
    return ids.generated_name(f"{job.metadata.name}{middle}-", seed)


def lost_pods(pods: Sequence[Pod]) -> list[Pod]:
    """Released pods that no other has the place of: they hold quota, and will not be wanted back."""
    named = {pod.metadata.annotations.get(REPLACES) for pod in pods}
    return [
        pod
        for pod in pods
        if pod.released
        and not pod.finished
        and not pod.metadata.deletion_timestamp
        and pod.metadata.uid not in named
    ]


def pair_with_lost(pods: Sequence[Pod], found: Iterable[Slot]) -> Iterator[tuple[Slot, Pod | None]]:
    """Each slot, naming the lost pod whose place it takes and whose quota is for it, if there is one; where there are
    indexes, of the same index."""
    left = lost_pods(pods)
    for slot in found:
        lost = next((pod for pod in left if slot.number < 0 or index_of(pod) == slot.number), None)
        if lost is None:
            yield slot, None
            continue
        left.remove(lost)
        yield slot._replace(notes={**slot.notes, REPLACES: lost.metadata.uid}), lost


def pod_body(job: Job, slot: Slot) -> Json:
    """The pod from the Job's template, tracked; its index where people, the pod and its containers find it."""
    body = from_template(job.spec.template, JOBS, job.metadata, slot.name)
    metadata = body["metadata"]
    metadata["finalizers"] = [*(metadata.get("finalizers") or ()), TRACKING]
    if slot.notes:
        metadata["annotations"] = {**metadata["annotations"], **slot.notes}
    if slot.number < 0:
        return body
    metadata["labels"] = {**metadata["labels"], INDEX: str(slot.number)}
    metadata["annotations"] = {**metadata["annotations"], INDEX: str(slot.number)}
    spec = {**body["spec"], "hostname": f"{job.metadata.name}-{slot.number}"}
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [_told_its_index(container) for container in spec[field]]
    return {**body, "spec": spec}


def _told_its_index(container: Json) -> Json:
    variable = "JOB_COMPLETION_INDEX"
    given = container.get("env") or []
    if any(each.get("name") == variable for each in given):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*given, {"name": variable, "valueFrom": source}]}

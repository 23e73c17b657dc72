"""Lets go of deleted pods whose Job is no more, or is another Job of the same name: nobody will count them now.

A pod's tracking finalizer is the Job controller's to remove; when the Job has gone first there is no key of it left
to do so under. Keys here are the pods themselves, and only those that are being deleted with the finalizer on.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.contract import NOTHING, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent, key_of
from fairlead.decision.predicates import GONE, LEAVING
from fairlead.decision.wakes import itself_if
from fairlead.model.key import Key
from fairlead.model.views import JOBS, PODS, Job, Pod
from fairlead.reconcile.job.pods import is_tracked, release_pod

_NAME = "job-orphans"
# A pod that waits for its Job to count it is woken when the Job goes; a Job that is replaced unseen, by another of its
# name, wakes nobody: therefore it is looked at again so often.
#: bound: plane | a pod held for its Job is looked at every | -
AGAIN_SECONDS = 60.0


def job_orphan_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(PODS, JOBS),
        wakes=(Wake(PODS, itself_if(_is_held), when=LEAVING), Wake(JOBS, _held_for, when=GONE)),
        decide=_decide,
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
    pod = view.get(PODS, key.namespace, key.name)
    if pod is None or not _is_held(pod):
        return NOTHING
    owner = pod.metadata.controller
    job = view.get(JOBS, key.namespace, owner.name) if owner is not None and owner.kind == JOBS.kind else None
    if owner is not None and job is not None and job.metadata.uid == owner.uid:
        return Decision(Waiting("JobWillCountIt"), again_at=now + AGAIN_SECONDS)
    effect = release_pod(_NAME, pod.metadata, pod)
    return Decision(effects=(effect,) if effect else ())


def _held_for(event: WatchEvent[Job]) -> Iterable[Key]:
    """The pods that a Job which has gone leaves behind."""
    if event.before is None:
        return ()
    left = event.view.owned(PODS, event.before.metadata.uid, event.key.namespace)
    return tuple(key_of(PODS.name, pod) for pod in left if _is_held(pod))


def _is_held(pod: Pod) -> bool:
    return bool(pod.metadata.deletion_timestamp) and is_tracked(pod)

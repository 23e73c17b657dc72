"""Lets go of deleted pods whose Job is no more, or is another Job of the same name: nobody will count them now.

A pod's tracking finalizer is the Job controller's to remove; when the Job has gone first there is no key of it left
to do so under. Keys here are the pods themselves, and only those that are being deleted with the finalizer on.
"""

from __future__ import annotations

from fairlead.decision.contract import NOTHING, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.predicates import LEAVING
from fairlead.decision.wakes import itself_if
from fairlead.model.key import Key
from fairlead.model.views import JOBS, PODS, Pod
from fairlead.reconcile.job.pods import is_tracked, release_pod

_NAME = "job-orphans"
# The Job's end wakes no pod: while a pod waits for its Job to count it, it is looked at again so often.
#: bound: plane | a pod held for its Job is looked at every | -
AGAIN_SECONDS = 60.0


def job_orphan_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(PODS, JOBS),
        wakes=(Wake(PODS, itself_if(_is_held), when=LEAVING),),
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


def _is_held(pod: Pod) -> bool:
    return bool(pod.metadata.deletion_timestamp) and is_tracked(pod)

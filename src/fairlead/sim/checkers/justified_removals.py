"""No StatefulSet, DaemonSet or Job takes a live pod that its spec, as it is at that very revision, wants as it is.

    StatefulSet    an ordinal that is wanted goes only for another template
    DaemonSet      the only live pod of a node goes only for another template; nodes with taints, and sets that choose
                   their nodes, are not judged
    Job            one that is not suspended and not over gives up none of those that it may have at a time; a pod that
                   it gives up loses the Job's finalizer, and is deleted after that

A deletion commits only while the owner is as it was when that was decided (its premise), so a request that comes late
is no excuse. Where the API judges no premises, one that was on its way when the owner changed can come for as long as a
request may be under way (`lag_seconds`). ReplicaSets have a checker of their own, which counts
(`justified_deletes.py`).
"""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.model.views import DAEMONSETS, JOBS, NODES, PODS, STATEFULSETS
from fairlead.reconcile.job.pods import TRACKING
from fairlead.sim.checkers.contract import LATE, CommittedObjects, SeenChange
from fairlead.sim.checkers.templates import differing, ordinal_of
from fairlead.sim.violation import Violation

_OWNERS = frozenset({STATEFULSETS.name, DAEMONSETS.name, JOBS.name})
_CONTROLLERS = {"statefulset": STATEFULSETS.kind, "daemonset": DAEMONSETS.kind, "job": JOBS.kind}
_OVER = frozenset({"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget", "Suspended"})


class JustifiedRemovals:
    name = "justified-removals"
    sees = frozenset({*_OWNERS, PODS.name, NODES.name})

    def __init__(self, lag_seconds: float = 0.0) -> None:
        self._lag_seconds = lag_seconds
        self._changed_at: dict[str, float] = {}  # uid of an owner -> when its spec last changed
        self._owners: dict[str, Any] = {}  # by uid, those that are there and stay
        self._nodes: dict[str, Any] = {}
        self._pods: dict[str, dict[Key, Any]] = {}  # uid of the owner -> its pods
        self._templates: dict[str, Any] = {}  # uid of a pod -> its owner's template when it was made

    def saw(self, sight: SeenChange) -> None:
        resource = sight.key.resource
        if resource == PODS.name:
            self._pod(sight)
        elif resource in _OWNERS:
            meta = sight.last.metadata
            if sight.after is None or meta.deletion_timestamp:
                self._owners.pop(meta.uid, None)
            else:
                if sight.before is None or sight.before.metadata.generation != meta.generation:
                    self._changed_at[meta.uid] = sight.seconds
                self._owners[meta.uid] = sight.after
        elif resource == NODES.name:
            if sight.after is None:
                self._nodes.pop(sight.key.name, None)
            else:
                self._nodes[sight.key.name] = sight.after

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _pod(self, sight: SeenChange) -> None:
        meta, pod, before = sight.last.metadata, sight.after, sight.before
        if meta.controller is None or meta.controller.kind not in _CONTROLLERS.values():
            return
        uid = meta.controller.uid
        mine = self._pods.setdefault(uid, {})
        owner = self._owners.get(uid)
        if pod is None:
            mine.pop(sight.key, None)
        else:
            mine[sight.key] = pod
        if before is None and owner is not None:
            self._templates[meta.uid] = owner.spec.template
        leaves = before is not None and _is_member(before) and not (pod is not None and _is_member(pod))
        if owner is not None and leaves and self._is_judged(sight):
            told = self._unjust(meta.controller.kind, owner, before, mine)
            if told:
                raise Violation(self.name, f"{sight.origin} deleted {sight.key.name}: {told}")

    def _is_judged(self, sight: SeenChange) -> bool:
        controller = sight.origin.removeprefix(LATE).partition(" of plane-")[0]
        since = self._changed_at.get(sight.last.metadata.controller.uid, 0.0)
        settled = not self._lag_seconds or sight.seconds - since > self._lag_seconds
        return controller in _CONTROLLERS and settled

    def _unjust(self, kind: str, owner: Any, pod: Any, mine: dict[Key, Any]) -> str:
        """Why this pod should have stayed, in words; "" if it had to go."""
        name, spec = owner.metadata.name, owner.spec
        if kind == JOBS.kind:
            return _unjust_of_job(owner, mine)
        before = self._templates.get(pod.metadata.uid, spec.template)
        if before != spec.template or differing(spec.template, pod):
            return ""
        if kind == STATEFULSETS.kind:
            start = int(spec.ordinals.get("start") or 0)
            wanted = start <= ordinal_of(pod) < start + spec.replicas
            return f"{name} wants {spec.replicas}, of this template" if wanted else ""
        node = self._nodes.get(pod.spec.node_name)
        beside = [each for each in mine.values() if each.live and each.spec.node_name == pod.spec.node_name]
        if node is None or beside or node.spec.taints or _chooses_nodes(spec.template):
            return ""
        return f"{name} wants one of this template on {pod.spec.node_name}"


def _unjust_of_job(job: Any, mine: dict[Key, Any]) -> str:
    over = any(each.type in _OVER and each.status == "True" for each in job.status.conditions)
    if job.spec.suspend or over:
        return ""
    ended = max(job.status.succeeded, sum(pod.status.phase == "Succeeded" for pod in mine.values()))
    left = job.spec.parallelism if job.spec.completions is None else job.spec.completions - ended
    live = sum(map(_is_member, mine.values()))
    if job.spec.completions is None and ended:
        return ""  # nobody comes after the first that succeeded
    wanted = min(left, job.spec.parallelism)
    return f"{job.metadata.name} goes on, has {live} left and wants {wanted}" if live < wanted else ""


def _is_member(pod: Any) -> bool:
    """A Job has given up whom it does not track any more."""
    owner = pod.metadata.controller
    if owner is None or not pod.live:
        return False
    return owner.kind != JOBS.kind or TRACKING in pod.metadata.finalizers


def _chooses_nodes(template: dict[str, Any]) -> bool:
    spec = template.get("spec") or {}
    return bool(spec.get("nodeSelector") or (spec.get("affinity") or {}).get("nodeAffinity"))

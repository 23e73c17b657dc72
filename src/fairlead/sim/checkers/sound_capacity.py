"""No step of a rollout, or of its undoing, plans to give up pods that work for pods that do not.

Judged when a Deployment's controller makes a ReplicaSet smaller. Sound is a pod that is ready, not on its way out, not
released or about to be, and on a node that is neither marked as silent, at whatever stage, nor out of service. Once
every set has the size it was told there must be desired minus maxUnavailable of them, or as many as there were if that
is less. `availability.py` judges the deletion of each pod by readiness alone; this one judges the plan, and by what is
known of nodes.

What was so less than GRACE_SECONDS ago may be unknown to the plane: a pod that has become unsound since counts as sound
for what is left, one that has become sound does not count for what there was.

Where none may be away because a share was rounded down, and a quota refuses pods of another set of it
(`refused_sets.py`), one may go before another is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from fairlead.model.key import Key
from fairlead.model.marks import OUT_OF_SERVICE, RELEASED, SUSPECT, UNREACHABLE
from fairlead.model.views import DEPLOYMENTS, NODES, PODS, REPLICASETS, RESOURCE_QUOTAS
from fairlead.sim.checkers.availability import least_available
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.live_children import GRACE_SECONDS, most_replicas
from fairlead.sim.checkers.refused_sets import RefusedSets
from fairlead.sim.violation import Violation

_BY = "deployment of plane-"
_LONG_AGO = -1e9
_MARKS = (SUSPECT, UNREACHABLE, OUT_OF_SERVICE)  # taints


@dataclass(slots=True)
class _Pod:
    node: str
    works: bool  # as far as the pod itself tells
    sound: bool
    since: float  # when that began


@dataclass(slots=True)
class _Deployment:
    name: str
    observed: int = 0
    # generation, since, least, least while a quota refuses the surge, most
    limits: list[tuple[int, float, int, int, int]] = field(default_factory=list)

    def bounds(self, seconds: float, is_refused: bool) -> tuple[int, int]:
        """The lowest and the highest number that may still be acted on."""
        valid = [self.limits[-1]]
        for limits, (generation, since, *_) in pairwise(self.limits):
            if generation > self.observed or seconds - since < GRACE_SECONDS:
                valid.append(limits)
        least = min(refused if is_refused else plain for _, _, plain, refused, _ in valid)
        return least, min(most for *_, most in valid)


class SoundCapacity:
    name = "sound-capacity"
    sees = frozenset({PODS.name, NODES.name, REPLICASETS.name, DEPLOYMENTS.name, RESOURCE_QUOTAS.name})

    def __init__(self) -> None:
        self._lost: set[str] = set()  # nodes
        self._on: dict[str, dict[Key, str]] = {}  # node -> pods there -> uid of their ReplicaSet
        self._pods: dict[str, dict[Key, _Pod]] = {}  # uid of a ReplicaSet -> its pods
        self._sets: dict[str, dict[str, int]] = {}  # uid of a Deployment -> its sets' sizes by uid
        self._deployments: dict[str, _Deployment] = {}
        self._refused = RefusedSets()

    def saw(self, sight: SeenChange) -> None:
        resource = sight.key.resource
        if resource == PODS.name:
            self._pod(sight)
        elif resource == NODES.name:
            self._node(sight)
        elif resource == REPLICASETS.name:
            self._set(sight)
        elif resource == RESOURCE_QUOTAS.name:
            self._refused.saw_quota(sight)
        elif resource == DEPLOYMENTS.name and sight.after is not None:
            self._deployment(sight)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _node(self, sight: SeenChange) -> None:
        name, node = sight.key.name, sight.after
        lost = node is not None and any(taint.get("key") in _MARKS for taint in node.spec.taints)
        if lost == (name in self._lost):
            return
        (self._lost.add if lost else self._lost.discard)(name)
        for key, uid in self._on.get(name, {}).items():
            _turn(self._pods[uid][key], not lost and self._pods[uid][key].works, sight.seconds)

    def _pod(self, sight: SeenChange) -> None:
        owner = sight.last.metadata.controller
        if owner is None or owner.kind != REPLICASETS.kind:
            return
        key, pod = sight.key, sight.after
        mine = self._pods.setdefault(owner.uid, {})
        node = sight.last.spec.node_name
        works = (
            pod is not None
            and pod.live
            and pod.ready
            and not any(each.type == RELEASED for each in pod.status.conditions)
        )
        known = mine.setdefault(key, _Pod(node, works, False, _LONG_AGO))
        known.node, known.works = node, works
        if node:
            self._on.setdefault(node, {})[key] = owner.uid
        _turn(known, works and node not in self._lost, sight.seconds)

    def _deployment(self, sight: SeenChange) -> None:
        view = sight.after
        meta = view.metadata
        found = self._deployments.setdefault(meta.uid, _Deployment(meta.name))
        found.observed = view.status.observed_generation
        if not found.limits or found.limits[-1][0] != meta.generation:
            least = least_available(view.spec)
            limits = (least, least - _may_lack_one(view.spec, least), most_replicas(view))
            found.limits.append((meta.generation, sight.seconds, *limits))

    def _set(self, sight: SeenChange) -> None:
        meta = sight.last.metadata
        owner = meta.controller
        if sight.after is None or owner is None or meta.deletion_timestamp:
            for sizes in self._sets.values():
                sizes.pop(meta.uid, None)
            return
        self._refused.saw_set(sight)
        sizes = self._sets.setdefault(owner.uid, {})
        before, after = sizes.get(meta.uid), sight.after.spec.replicas
        if before is not None and after < before and _BY in sight.origin and owner.uid in self._deployments:
            self._judge(self._deployments[owner.uid], sizes, {**sizes, meta.uid: after}, sight)
        sizes[meta.uid] = after

    def _judge(
        self, found: _Deployment, before: dict[str, int], after: dict[str, int], sight: SeenChange
    ) -> None:
        earlier = sight.seconds - GRACE_SECONDS
        others = before.keys() - {sight.last.metadata.uid}
        is_refused = self._refused.is_any_refused(others, sight.key.namespace, sight.seconds)
        least, most = found.bounds(sight.seconds, is_refused)
        if sum(before.values()) > most:
            return  # too many must go, whatever can stay
        had = left = 0
        for uid, size in before.items():
            pods = self._pods.get(uid, {}).values()
            had += min(size, sum(pod.sound and pod.since <= earlier for pod in pods))
            left += min(after[uid], sum(pod.sound or pod.since > earlier for pod in pods))
        if left < min(had, least):
            raise Violation(
                self.name,
                f"{sight.origin} tells {sight.key.name} to have {after[sight.last.metadata.uid]} pods: {found.name} "
                f"would have {left} sound pods left of {had}, and must keep {least}",
            )


def _may_lack_one(spec: Any, least: int) -> bool:
    """Whether that none may be away is the rounding's doing: a plain 0 is meant."""
    said = ((spec.strategy or {}).get("rollingUpdate") or {}).get("maxUnavailable", "25%")
    return 0 < least == spec.replicas and said not in (0, "0%")


def _turn(pod: Any, sound: bool, seconds: float) -> None:
    if pod.sound != sound:
        pod.sound, pod.since = sound, seconds

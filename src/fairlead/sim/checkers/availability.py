"""No plane takes a ready pod of a Deployment when fewer than desired minus maxUnavailable would be left.

Only the plane's own deletions are judged: pods that end by themselves, or that others take, may bring the number lower;
so may the scheduler, for a pod that is more important, and what happens to a node. Where the namespace goes, all go.
Five allowances are left, four of them because a Deployment acts through its sets and by what their status said:

    what is desired has risen    until the status tells that the generation was observed, and for GRACE_SECONDS, the
                                 lower number still counts
    a set was told before that   and still shrinks to the size it was told: no size is taken back while there is no
                                 room for more pods
    a pod is ready since less    than GRACE_SECONDS: it may go as one that is not, because unready pods of old sets are
                                 given up first, as in Kubernetes, and a status is older than the pod
    a pod falls ill              less than GRACE_SECONDS before its set was told its size, or later: it was counted
    the surge is refused         where none may be away, and a quota refuses pods of a set of it (`refused_sets.py`),
                                 one goes before another is there: or the rollout would never end. Also later, if
                                 its set was told so then

Ready is taken for available: the worlds have no minReadySeconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS, PODS, REPLICASETS, RESOURCE_QUOTAS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.justified_deletes import NAMESPACES
from fairlead.sim.checkers.live_children import GRACE_SECONDS
from fairlead.sim.checkers.refused_sets import RefusedSets
from fairlead.sim.violation import Violation


@dataclass(slots=True)
class _Deployment:
    key: Key
    floors: list[tuple[int, float, int]] = field(default_factory=list)  # (generation, since, least available)
    observed: int = 0
    replicas: int = 0
    is_going: bool = False

    def floor(self, told_at: float, seconds: float) -> int:
        """The lowest number that a set which was told its size at some time may still act on."""
        least = self.floors[-1][2]
        for (_, _, floor), (generation, since, _) in pairwise(self.floors):
            if generation > self.observed or told_at < since or seconds - since < GRACE_SECONDS:
                least = min(least, floor)
        return least


class Availability:
    name = "availability"
    sees = frozenset({PODS.name, DEPLOYMENTS.name, REPLICASETS.name, RESOURCE_QUOTAS.name, NAMESPACES})

    def __init__(self) -> None:
        self._deployments: dict[str, _Deployment] = {}  # by uid
        self._going: set[str] = set()  # namespaces
        self._refused = RefusedSets()
        # uid of a ReplicaSet -> its size, since when, and whether pods of its Deployment were refused then
        self._told: dict[str, tuple[int, float, bool]] = {}
        self._set_in: dict[str, str] = {}  # uid of a ReplicaSet -> uid of its Deployment
        self._ready: dict[str, dict[Key, float]] = {}  # uid of a ReplicaSet -> its ready pods, since when
        self._ill: dict[
            str, list[float]
        ] = {}  # uid of a ReplicaSet -> when a pod ceased to be ready by itself

    def saw(self, sight: SeenChange) -> None:
        resource = sight.key.resource
        if resource == PODS.name:
            self._pod(sight)
        elif resource == DEPLOYMENTS.name:
            self._deployment(sight)
        elif resource == REPLICASETS.name:
            self._set(sight)
        elif resource == RESOURCE_QUOTAS.name:
            self._refused.saw_quota(sight)
        elif resource == NAMESPACES and sight.last.metadata.deletion_timestamp:
            self._going.add(sight.key.name)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """How many there are at rest is judged against the run without faults."""

    def _deployment(self, sight: SeenChange) -> None:
        view = sight.last
        meta = view.metadata
        found = self._deployments.setdefault(meta.uid, _Deployment(sight.key))
        if not found.floors or found.floors[-1][0] != meta.generation:
            found.floors.append((meta.generation, sight.seconds, least_available(view.spec)))
        found.observed, found.replicas = view.status.observed_generation, view.spec.replicas
        found.is_going = sight.after is None or bool(meta.deletion_timestamp)

    def _set(self, sight: SeenChange) -> None:
        meta = sight.last.metadata
        owner = meta.controller
        size = sight.last.spec.replicas
        if meta.uid not in self._told or self._told[meta.uid][0] != size:
            of = self._set_in.get(meta.uid)
            is_refused = self._is_refused(of, sight.key.namespace, sight.seconds) if of is not None else False
            self._told[meta.uid] = (size, sight.seconds, is_refused)
        self._refused.saw_set(sight)
        if owner is not None and sight.after is not None and not meta.deletion_timestamp:
            self._set_in[meta.uid] = owner.uid
        else:
            self._set_in.pop(meta.uid, None)  # of nobody, or collected with its pods

    def _pod(self, sight: SeenChange) -> None:
        owner = sight.last.metadata.controller
        if owner is None or owner.kind != REPLICASETS.kind:
            return
        pod = sight.after
        mine = self._ready.setdefault(owner.uid, {})
        if pod is not None and pod.live and pod.ready:
            mine.setdefault(sight.key, sight.seconds)
        elif (since := mine.pop(sight.key, None)) is not None:
            is_deleted = pod is None or bool(pod.metadata.deletion_timestamp)
            is_late = sight.seconds - since >= GRACE_SECONDS
            if not (is_deleted and sight.by_plane) or sight.by_scheduler or sight.for_a_node:
                self._ill.setdefault(owner.uid, []).append(sight.seconds)
            elif is_late:
                self._judge(owner.uid, sight)

    def _sets_of(self, uid: str) -> list[str]:
        return [each for each, of in self._set_in.items() if of == uid]

    def _is_refused(self, uid: str, namespace: str, seconds: float) -> bool:
        return self._refused.is_any_refused(self._sets_of(uid), namespace, seconds)

    def _judge(self, set_uid: str, sight: SeenChange) -> None:
        uid = self._set_in.get(set_uid, "")
        found = self._deployments.get(uid)
        if found is None or found.is_going or found.key.namespace in self._going:
            return
        sets = self._sets_of(uid)
        ready = sum(len(self._ready.get(each, ())) for each in sets)
        _, told_at, was_refused = self._told[set_uid]
        floor = found.floor(told_at, sight.seconds)
        if was_refused or self._is_refused(uid, found.key.namespace, sight.seconds):
            floor = min(floor, found.replicas - 1)
        ill = sum(at > told_at - GRACE_SECONDS for each in sets for at in self._ill.get(each, ()))
        if ready + ill < floor:
            raise Violation(
                self.name,
                f"{sight.origin} deleted {sight.key.name}: {found.key.name} has {ready} ready pods left "
                f"and must keep {floor}",
            )


def least_available(spec: Any) -> int:
    """desired minus maxUnavailable; at least one may be away if nothing may be made beforehand."""
    replicas: int = spec.replicas
    strategy = spec.strategy or {}
    if strategy.get("type") == "Recreate":
        return 0
    rolling = strategy.get("rollingUpdate") or {}
    away = _amount(rolling.get("maxUnavailable", "25%"), replicas, up=False)
    surge = _amount(rolling.get("maxSurge", "25%"), replicas, up=True)
    return max(0, replicas - (away or (0 if surge else 1)))


def _amount(value: Any, of: int, *, up: bool) -> int:
    if not isinstance(value, str):
        return int(value)
    share = of * int(value.rstrip("%"))
    return -(-share // 100) if up else share // 100

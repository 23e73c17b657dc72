"""Never more live children than desired plus surge, at every revision at which a child begins to count.

ReplicaSets are judged by their spec as it is at that very revision: whatever is created for one commits only while
the set is as it was when that was decided (its premise), so neither a count that sank unseen nor a request that comes
late is an excuse.

For the others what is desired may sink while the plane has not seen it: until a status tells that a generation was
observed, and for `GRACE_SECONDS`, the higher number still counts. A Deployment's number is carried out by its sets,
each of which is right by itself at any time; they are told of a new number one after the other. Jobs and
StatefulSets create under names that follow from index or order, without a premise: a create that is on its way when
the number sinks cannot be called back. Children on their way out do not count: Kubernetes replaces a pod when its
deletion has begun.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS, JOBS, PODS, REPLICASETS, STATEFULSETS
from fairlead.sim.checkers.contract import CommittedObjects, Sight
from fairlead.sim.violation import Violation

GRACE_SECONDS = 20.0  # longer than the network holds a request, see network.py


@dataclass(slots=True)
class _Owner:
    key: Key
    parent: str  # uid of the owner's own controller
    limits: list[tuple[int, float, int]] = field(default_factory=list)  # (generation, since, limit), rising
    observed: int = 0

    def allowed(self, seconds: float, premises: bool) -> int:
        """The highest limit that may still be acted on."""
        if self.key.resource == REPLICASETS.name and premises:
            return self.limits[-1][2]
        most = 0
        for position, (_, _, limit) in enumerate(self.limits):
            following = self.limits[position + 1] if position + 1 < len(self.limits) else None
            if following is None or following[0] > self.observed or seconds - following[1] < GRACE_SECONDS:
                most = max(most, limit)
        return most


class LiveChildren:
    name = "live-children"

    def __init__(self, premises: bool = True) -> None:
        """`premises`: whether the API judges them; where it does not, a set's number is as that of the others."""
        self._premises = premises
        self._owners: dict[str, _Owner] = {}  # by uid
        self._owned: dict[str, list[str]] = {}  # uid -> uids of what it controls
        self._owner_of: dict[Key, str] = {}  # live pods -> uid of their controller
        self._live: dict[str, int] = {}  # uid -> live pods that name it as controller

    def saw(self, sight: Sight) -> None:
        resource = sight.key.resource
        if resource == PODS.name:
            self._pod(sight)
        elif resource in _LIMITS and sight.after is not None:
            self._owner(sight)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """How many there are at rest is judged against the run without faults."""

    def _owner(self, sight: Sight) -> None:
        view = sight.after
        meta = view.metadata
        owner = self._owners.get(meta.uid)
        if owner is None:
            controller = meta.controller
            owner = self._owners[meta.uid] = _Owner(sight.key, controller.uid if controller else "")
            self._owned.setdefault(owner.parent, []).append(meta.uid)
        if not owner.limits or owner.limits[-1][0] != meta.generation:
            owner.limits.append((meta.generation, sight.seconds, _LIMITS[sight.key.resource](view)))
        owner.observed = getattr(view.status, "observed_generation", meta.generation)

    def _pod(self, sight: Sight) -> None:
        pod, live = sight.after, self._live
        controller = pod.metadata.controller if pod is not None and pod.live else None
        uid = controller.uid if controller is not None else ""
        counted = self._owner_of.pop(sight.key, "")
        if counted:
            live[counted] -= 1
        if not uid:
            return
        self._owner_of[sight.key] = uid
        live[uid] = live.get(uid, 0) + 1
        if uid != counted:
            self._judge(uid, sight)

    def _judge(self, uid: str, sight: Sight) -> None:
        while uid and (owner := self._owners.get(uid)) is not None:
            live = self._live.get(uid, 0) + sum(self._live.get(each, 0) for each in self._owned.get(uid, ()))
            allowed = owner.allowed(sight.seconds, self._premises)
            if live > allowed:
                raise Violation(
                    self.name,
                    f"{sight.key.name} is live child {live} of {owner.key.resource} "
                    f"{owner.key.name}, which may have {allowed}",
                )
            uid = owner.parent


def most_replicas(view: Any) -> int:
    """Of a Deployment, all its sets together."""
    replicas: int = view.spec.replicas
    strategy = view.spec.strategy or {}
    if strategy.get("type") == "Recreate":
        return replicas
    surge = (strategy.get("rollingUpdate") or {}).get("maxSurge", "25%")
    if isinstance(surge, str):
        return replicas - (-replicas * int(surge.rstrip("%")) // 100)
    return replicas + int(surge)


_LIMITS = {
    REPLICASETS.name: lambda view: view.spec.replicas,
    STATEFULSETS.name: lambda view: view.spec.replicas,
    JOBS.name: lambda view: view.spec.parallelism,
    DEPLOYMENTS.name: most_replicas,
}

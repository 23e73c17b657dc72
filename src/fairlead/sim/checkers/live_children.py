"""Never more live children than desired plus surge, at every revision at which a child begins to count.

ReplicaSets, StatefulSets and Jobs are judged by their spec as it is at that very revision: whatever is created for one
commits only while the owner is as it was when that was decided (its premise), so neither a count that sank unseen nor a
request that comes late is an excuse. Where the API judges no premises, a create can come when the number has sunk; for
as long as a request may be under way (`lag_seconds`) the higher number counts, of a Deployment from when its status
told that its sets know the lower one; and one whose sender gave up is not judged: its set may have moved on, and with
it the names of its pods. Nor does it count for so long: another that was decided on before it came may be asked for
once more. Nor do the pods of a ReplicaSet that came so count for its Deployment, which may have moved on to another
set.
A StatefulSet is judged by the ordinal of the new pod: it fills the places that it wants before others are given up.
Pods that an owner adopts are not judged, but count from then on: they ran before it, and it takes away what is its own.

Of a Deployment what is desired may sink while its sets have not been told: until a status tells that a generation was
observed, and for `GRACE_SECONDS`, the higher number still counts. Its number is carried out by its sets, each of which
is right by itself at any time; they are told of a new number one after the other, a set that is adopted after that, and
of none once the Deployment is being deleted: then it is not judged. Children on their way out do not count: Kubernetes
replaces a pod when its deletion has begun.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS, JOBS, PODS, REPLICASETS, STATEFULSETS
from fairlead.sim.checkers.contract import LATE, CommittedObjects, SeenChange
from fairlead.sim.checkers.templates import ordinal_of
from fairlead.sim.violation import Violation

GRACE_SECONDS = 20.0  # longer than the network holds a request, see network.py


@dataclass(slots=True)
class _Owner:
    key: Key
    parent: str  # uid of the owner's own controller
    limits: list[tuple[int, float, int]] = field(default_factory=list)  # (generation, since, limit), rising
    observed: int = 0
    observed_before: int = 0
    observed_since: float = -math.inf
    is_going: bool = False
    adopted: dict[str, tuple[float, int]] = field(
        default_factory=dict
    )  # its sets: when, and what each wanted

    def allowed(self, seconds: float, lag_seconds: float) -> int:
        """The highest limit that may still be acted on."""
        if self.key.resource != DEPLOYMENTS.name:
            return self._recent(seconds - lag_seconds) if lag_seconds else self.limits[-1][2]
        is_settled = seconds - self.observed_since >= lag_seconds  # nothing is under way from before that
        known = self.observed if is_settled else self.observed_before
        most = 0
        for position, (_, _, limit) in enumerate(self.limits):
            following = self.limits[position + 1] if position + 1 < len(self.limits) else None
            if following is None or following[0] > known or seconds - following[1] < GRACE_SECONDS:
                most = max(most, limit)
        return most + sum(limit for since, limit in self.adopted.values() if seconds - since < GRACE_SECONDS)

    def _recent(self, since: float) -> int:
        """The highest limit that was in force after `since`."""
        ends = [each[1] for each in self.limits[1:]] + [float("inf")]
        return max(limit for (_, _, limit), end in zip(self.limits, ends, strict=True) if end > since)


class LiveChildren:
    name = "live-children"
    sees = frozenset({PODS.name, REPLICASETS.name, STATEFULSETS.name, JOBS.name, DEPLOYMENTS.name})

    def __init__(self, lag_seconds: float = 0.0) -> None:
        self._lag_seconds = lag_seconds
        self._owners: dict[str, _Owner] = {}  # by uid
        self._late: set[str] = set()  # uids of owners whose makers had given up
        self._owned: dict[str, list[str]] = {}  # uid -> uids of what it controls
        self._owner_of: dict[Key, str] = {}  # live pods -> uid of their controller
        self._live: dict[str, int] = {}  # uid -> live pods that name it as controller
        self._came_late: dict[
            str, dict[Key, float]
        ] = {}  # uid -> pods of senders that had given up, and when

    def saw(self, sight: SeenChange) -> None:
        resource = sight.key.resource
        if resource == PODS.name:
            self._pod(sight)
        elif resource in _LIMITS and sight.after is not None:
            self._owner(sight)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """How many there are at rest is judged against the run without faults."""

    def _owner(self, sight: SeenChange) -> None:
        view = sight.after
        meta = view.metadata
        owner = self._owners.get(meta.uid)
        if owner is None and self._lag_seconds and sight.origin.startswith(LATE):
            self._late.add(meta.uid)
        parent = meta.controller.uid if meta.controller and meta.uid not in self._late else ""
        if owner is None:
            owner = self._owners[meta.uid] = _Owner(sight.key, parent)
            self._owned.setdefault(parent, []).append(meta.uid)
        elif owner.parent != parent:  # it was left behind, or is adopted by another of the same name
            self._owned[owner.parent].remove(meta.uid)
            self._owned.setdefault(parent, []).append(meta.uid)
            owner.parent = parent
            if parent in self._owners:
                self._owners[parent].adopted[meta.uid] = sight.seconds, owner.limits[-1][2]
        if not owner.limits or owner.limits[-1][0] != meta.generation:
            if parent in self._owners:
                self._owners[parent].adopted.pop(meta.uid, None)
            owner.limits.append((meta.generation, sight.seconds, _LIMITS[sight.key.resource](view)))
        owner.is_going = bool(meta.deletion_timestamp) and sight.key.resource == DEPLOYMENTS.name
        observed = getattr(view.status, "observed_generation", meta.generation)
        if observed != owner.observed:
            owner.observed_before, owner.observed_since = owner.observed, sight.seconds
            owner.observed = observed

    def _pod(self, sight: SeenChange) -> None:
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
        if self._lag_seconds and sight.before is None and sight.origin.startswith(LATE):
            self._came_late.setdefault(uid, {})[sight.key] = sight.seconds
        if uid != counted and not _is_adopted(sight):
            self._judge(uid, sight)

    def _count(self, uid: str, owner: _Owner, sight: SeenChange) -> int:
        if owner.key.resource == STATEFULSETS.name:
            return ordinal_of(sight.after) + 1
        return sum(self._counted(each, sight.seconds) for each in (uid, *self._owned.get(uid, ())))

    def _counted(self, uid: str, seconds: float) -> int:
        late = [
            key
            for key, came in self._came_late.get(uid, {}).items()
            if seconds - came < self._lag_seconds and self._owner_of.get(key) == uid
        ]
        return self._live.get(uid, 0) - len(late)

    def _judge(self, uid: str, sight: SeenChange) -> None:
        if self._lag_seconds and sight.origin.startswith(LATE):
            return
        while uid and (owner := self._owners.get(uid)) is not None:
            live = self._count(uid, owner, sight)
            allowed = owner.allowed(sight.seconds, self._lag_seconds)
            if live > allowed and not owner.is_going:
                raise Violation(
                    self.name,
                    f"{sight.key.name} is live child {live} of {owner.key.resource} "
                    f"{owner.key.name}, which may have {allowed}",
                )
            uid = owner.parent


def _is_adopted(sight: SeenChange) -> bool:
    """Whether the pod was there before, and nobody's."""
    return sight.before is not None and sight.before.metadata.controller is None


def _places(view: Any) -> int:
    """Of a StatefulSet: below this are the ordinals that it wants."""
    return int(view.spec.replicas) + int(view.spec.ordinals.get("start") or 0)


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
    STATEFULSETS.name: _places,
    JOBS.name: lambda view: view.spec.parallelism,
    DEPLOYMENTS.name: most_replicas,
}

"""No plane takes a live pod away from a living ReplicaSet that then has fewer than it wants.

Judged at the very revision of the deletion: the owner by uid, not by name; what it wants by its spec as committed.
There is no allowance for what a plane has not seen yet, nor for requests that arrive after their sender gave up: a
deletion commits only while the set is as it was when the deletion was decided (its premise).

Where the API judges no premises, a deletion can come when the number has risen; for as long as a request may be under
way (`lag_seconds`) the lower number counts.

One allowance is left. A pod that somebody else takes (people, a node, the pod's own end, the scheduler for a pod that
matters more, a taint, the rule for a node that came back) is not held against the plane until the set's status says how
many are left: the premise covers the set, not each of its pods, and the set learns of such a loss only by looking.
Nor is a replacement that makes way for its original, which is heard again and is about to count in its place.
ReplicaSets only: others do not delete pods for being too many.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.model.key import Key
from fairlead.model.marks import RELEASED, REPLACES, RETURNED
from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

NAMESPACES = "namespaces"


@dataclass(slots=True)
class _Set:
    key: Key
    replicas: int = 0
    former: list[tuple[float, int]] = field(default_factory=list)  # until when it wanted how many
    is_going: bool = False
    taken: int = 0  # live pods that others took since the status was last right
    live: set[Key] = field(default_factory=set)

    def wanted(self, since: float) -> int:
        """The lowest number that was in force after `since`."""
        return min([self.replicas, *(replicas for until, replicas in self.former if until > since)])


class JustifiedDeletes:
    name = "justified-deletes"
    sees = frozenset({REPLICASETS.name, PODS.name, NAMESPACES})

    def __init__(self, lag_seconds: float = 0.0) -> None:
        self._lag_seconds = lag_seconds
        self._sets: dict[str, _Set] = {}  # by uid
        self._set_of: dict[Key, _Set] = {}  # live pods -> their set
        self._going: set[str] = set()  # namespaces
        self._back: set[str] = (
            set()
        )  # uids of released pods whose node is heard again, and which are to count again

    def saw(self, sight: SeenChange) -> None:
        resource = sight.key.resource
        if resource == REPLICASETS.name:
            self._changed(sight)
        elif resource == PODS.name:
            self._pod(sight)
        elif resource == NAMESPACES and sight.last.metadata.deletion_timestamp:
            self._going.add(sight.key.name)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _changed(self, sight: SeenChange) -> None:
        meta = sight.last.metadata
        found = self._set(meta.uid, sight.key)
        if self._lag_seconds and sight.before is not None and found.replicas != sight.last.spec.replicas:
            found.former.append((sight.seconds, found.replicas))
        found.replicas = sight.last.spec.replicas
        found.is_going = sight.after is None or bool(meta.deletion_timestamp)
        if sight.last.status.replicas == len(found.live):
            found.taken = 0

    def _pod(self, sight: SeenChange) -> None:
        key, pod = sight.key, sight.after
        self._note_return(sight)
        owner = pod.metadata.controller if pod is not None and pod.live else None
        found = None
        if owner is not None and owner.kind == REPLICASETS.kind:
            # Restored pods may be seen before their set is.
            found = self._set(owner.uid, Key(REPLICASETS.name, key.namespace, owner.name))
        former = self._set_of.pop(key, None)
        if found is not None:
            self._set_of[key] = found
            found.live.add(key)
        if former is None or former is found:
            return
        former.live.discard(key)
        is_deleted = pod is None or bool(pod.metadata.deletion_timestamp)
        makes_way = sight.last.metadata.annotations.get(REPLACES) in self._back
        if not (is_deleted and sight.by_plane) or sight.by_scheduler or sight.for_a_node or makes_way:
            former.taken += 1
            return
        wanted = former.wanted(sight.seconds - self._lag_seconds)
        if not self._may_empty(former) and len(former.live) + former.taken < wanted:
            raise Violation(
                self.name,
                f"{sight.origin} deleted {key.name}: {former.key.name} has {len(former.live)} left "
                f"and wants {wanted}",
            )

    def _note_return(self, sight: SeenChange) -> None:
        uid, pod = sight.last.metadata.uid, sight.after
        conditions = pod.status.conditions if pod is not None else ()
        if any((each.type, each.reason) == (RELEASED, RETURNED) for each in conditions):
            self._back.add(uid)
        else:
            self._back.discard(uid)

    def _set(self, uid: str, key: Key) -> _Set:
        found = self._sets.get(uid)
        if found is None:
            found = self._sets[uid] = _Set(key)
        return found

    def _may_empty(self, found: _Set) -> bool:
        return found.is_going or found.key.namespace in self._going

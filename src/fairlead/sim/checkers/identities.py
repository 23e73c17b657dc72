"""An identity stands for one thing that was done: no two pods of a ReplicaSet were made under the same (laws.md 4).

A pod that came and went before its set changed or told of it may be made again as if it had never been: for whoever
looks at the state it never was. Pods of other owners are named after index or node and do come back under their names.
Where the API judges no premises, a create that its sender gave up can arrive when the pod it made has come and gone;
and what was decided before the set changed, after it has: for as long as a request may be under way (`lag_seconds`).
"""

from __future__ import annotations

from fairlead.decision.effects import OPERATION
from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.checkers.contract import LATE, CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class OneIdentity:
    name = "one-identity"
    sees = frozenset({REPLICASETS.name, PODS.name})

    def __init__(self, lag_seconds: float = 0.0) -> None:
        """`lag_seconds`: 0 where the API judges premises, and so refuses what the set outlived."""
        self._lag_seconds = lag_seconds
        self._changes: dict[str, list[tuple[int, float]]] = {}  # uid of a set -> its revisions, and when
        self._made: dict[str, tuple[str, int]] = {}  # operation -> (uid of the pod, revision of the set)

    def saw(self, sight: SeenChange) -> None:
        resource = sight.key.resource
        if resource == REPLICASETS.name:
            changes = self._changes.setdefault(sight.last.metadata.uid, [])
            changes.append((sight.revision, sight.seconds))
        elif resource == PODS.name and sight.before is None and sight.after is not None:
            self._pod(sight)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _pod(self, sight: SeenChange) -> None:
        meta = sight.after.metadata
        owner = meta.controller
        operation = meta.annotations.get(OPERATION, "")
        if owner is None or owner.kind != REPLICASETS.kind or not operation:
            return
        changes = self._changes.get(owner.uid, [])
        at = changes[-1][0] if changes else 0
        uid, was_at = self._made.setdefault(operation, (meta.uid, at))
        if uid != meta.uid and at != was_at and not self._is_excused(sight, changes, was_at):
            raise Violation(self.name, f"{sight.key.name} was made as {operation}, as another pod was before")
        self._made[operation] = (meta.uid, at)

    def _is_excused(self, sight: SeenChange, changes: list[tuple[int, float]], was_at: int) -> bool:
        """Whether the set may have been as it was when this was decided."""
        if not self._lag_seconds:
            return False
        left_at = next(seconds for revision, seconds in changes if revision > was_at)
        return sight.origin.startswith(LATE) or sight.seconds - left_at <= self._lag_seconds

"""An identity stands for one thing that was done: no two pods of a ReplicaSet were made under the same (laws.md 4).

A pod that came and went before its set changed or told of it may be made again as if it had never been: for whoever
looks at the state it never was. Pods of other owners are named after index or node and do come back under their names.
Where the API judges no premises, a create that its sender gave up can arrive when the pod it made has come and gone.
"""

from __future__ import annotations

from fairlead.decision.effects import OPERATION
from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.checkers.contract import LATE, CommittedObjects, Sight
from fairlead.sim.violation import Violation


class OneIdentity:
    name = "one-identity"

    def __init__(self, premises: bool = True) -> None:
        """`premises`: whether the API judges them, and so refuses what its sender gave up and the set outlived."""
        self._premises = premises
        self._set_at: dict[str, int] = {}  # uid of a set -> its revision
        self._made: dict[str, tuple[str, int]] = {}  # operation -> (uid of the pod, revision of the set)

    def saw(self, sight: Sight) -> None:
        resource = sight.key.resource
        if resource == REPLICASETS.name:
            self._set_at[sight.last.metadata.uid] = sight.revision
        elif resource == PODS.name and sight.before is None and sight.after is not None:
            self._pod(sight)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _pod(self, sight: Sight) -> None:
        meta = sight.after.metadata
        owner = meta.controller
        operation = meta.annotations.get(OPERATION, "")
        if owner is None or owner.kind != REPLICASETS.kind or not operation:
            return
        at = self._set_at.get(owner.uid, 0)
        uid, was_at = self._made.setdefault(operation, (meta.uid, at))
        is_excused = not self._premises and sight.origin.startswith(LATE)
        if uid != meta.uid and at != was_at and not is_excused:
            raise Violation(self.name, f"{sight.key.name} was made as {operation}, as another pod was before")
        self._made[operation] = (meta.uid, at)

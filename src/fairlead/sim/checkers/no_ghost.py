"""No plane makes a pod for a ReplicaSet that is not there: what is created commits only while its owner is as it was.

Judged by the owner's uid at the revision of the create. Other owners give no premise, so that a create that was on its
way when they went can still arrive; the garbage collector takes it, and `no-orphan` sees to that.
"""

from __future__ import annotations

from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.checkers.contract import Objects, Sight
from fairlead.sim.violation import Violation


class NoGhost:
    name = "no-ghost"

    def __init__(self) -> None:
        self._there: set[str] = set()  # uids of ReplicaSets

    def saw(self, sight: Sight) -> None:
        resource = sight.key.resource
        if resource == REPLICASETS.name:
            keep = self._there.discard if sight.after is None else self._there.add
            keep(sight.last.metadata.uid)
        elif resource == PODS.name and sight.before is None and sight.by_plane:
            owner = sight.last.metadata.controller
            if owner is not None and owner.kind == REPLICASETS.kind and owner.uid not in self._there:
                raise Violation(self.name, f"{sight.key.name} was made for {owner.name}, which is gone")

    def quiesced(self, objects: Objects, seconds: float) -> None:
        """Says nothing about rest."""

"""No plane makes a pod for a ReplicaSet that is not there: what is created commits only while its owner is as it was.

Judged by the owner's uid at the revision of the create. Other owners give no premise, so that a create that was on its
way when they went can still arrive; the garbage collector takes it, and `no-orphan` sees to that. Where the API judges
no premises the same goes for ReplicaSets, for as long as a request may be under way (`lag_seconds`).
"""

from __future__ import annotations

from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.checkers.contract import Objects, Sight
from fairlead.sim.violation import Violation


class NoGhost:
    name = "no-ghost"

    def __init__(self, lag_seconds: float = 0.0) -> None:
        self._there: set[str] = set()  # uids of ReplicaSets
        self._gone_at: dict[str, float] = {}
        self._lag_seconds = lag_seconds

    def saw(self, sight: Sight) -> None:
        resource = sight.key.resource
        if resource == REPLICASETS.name:
            keep = self._there.discard if sight.after is None else self._there.add
            keep(sight.last.metadata.uid)
            if sight.after is None:
                self._gone_at[sight.last.metadata.uid] = sight.seconds
        elif resource == PODS.name and sight.before is None and sight.by_plane:
            owner = sight.last.metadata.controller
            if owner is not None and owner.kind == REPLICASETS.kind and owner.uid not in self._there:
                if (
                    self._lag_seconds
                    and sight.seconds - self._gone_at.get(owner.uid, 0.0) <= self._lag_seconds
                ):
                    return
                raise Violation(self.name, f"{sight.key.name} was made for {owner.name}, which is gone")

    def quiesced(self, objects: Objects, seconds: float) -> None:
        """Says nothing about rest."""

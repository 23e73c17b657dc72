"""No plane makes a pod for an owner that is not there: what is created commits only while its owner is as it was.

Judged by the owner's uid at the revision of the create, for every kind of workload. Where the API judges no premises a
create that was on its way when the owner went can still arrive, for as long as a request may be under way
(`lag_seconds`); the garbage collector takes it, and `no-orphan` sees to that.
"""

from __future__ import annotations

from fairlead.model.views import DAEMONSETS, JOBS, PODS, REPLICASETS, STATEFULSETS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_OWNERS = {each.name: each.kind for each in (REPLICASETS, STATEFULSETS, DAEMONSETS, JOBS)}
_KINDS = frozenset(_OWNERS.values())


class NoGhost:
    name = "no-ghost"
    sees = frozenset({*_OWNERS, PODS.name})

    def __init__(self, lag_seconds: float = 0.0) -> None:
        self._there: set[str] = set()  # uids of owners
        self._gone_at: dict[str, float] = {}
        self._lag_seconds = lag_seconds

    def saw(self, sight: SeenChange) -> None:
        resource = sight.key.resource
        if resource in _OWNERS:
            keep = self._there.discard if sight.after is None else self._there.add
            keep(sight.last.metadata.uid)
            if sight.after is None:
                self._gone_at[sight.last.metadata.uid] = sight.seconds
        elif resource == PODS.name and sight.before is None and sight.by_plane:
            owner = sight.last.metadata.controller
            if owner is not None and owner.kind in _KINDS and owner.uid not in self._there:
                if (
                    self._lag_seconds
                    and sight.seconds - self._gone_at.get(owner.uid, 0.0) <= self._lag_seconds
                ):
                    return
                raise Violation(self.name, f"{sight.key.name} was made for {owner.name}, which is gone")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

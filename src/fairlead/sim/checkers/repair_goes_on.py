"""repair-goes-on: what was released is replaced in time."""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

# Longer than planes are without a leader, and than requests and watches lag, taken together.
_REPLACED_SECONDS = 90.0


class RepairGoesOn:
    """Nothing keeps a ReplicaSet from replacing a pod that was released, for as long as it misses one."""

    name = "repair-goes-on"

    def __init__(self) -> None:
        self._released: dict[str, tuple[float, str, str]] = {}  # uid -> since when, owner, name
        self._wanted: dict[str, int] = {}  # uid of a ReplicaSet -> replicas
        self._live: dict[str, set[Key]] = {}

    def saw(self, sight: SeenChange) -> None:
        meta, after = sight.last.metadata, sight.after
        if sight.key.resource == REPLICASETS.name:
            self._begin_anew(meta.uid, sight.seconds)  # it had enough until it came to want more
            gone = after is None or meta.deletion_timestamp
            self._wanted[meta.uid] = 0 if gone else sight.last.spec.replicas
        elif sight.key.resource == PODS.name and meta.controller is not None:
            owner = meta.controller.uid
            live = self._live.setdefault(owner, set())
            (live.add if after is not None and after.live else live.discard)(sight.key)
            if after is None or not after.released or after.finished or meta.deletion_timestamp:
                self._released.pop(meta.uid, None)
            elif meta.uid not in self._released:
                self._released[meta.uid] = sight.seconds, owner, meta.name
            self._begin_anew(owner, sight.seconds)
        for since, owner, name in self._released.values():
            missing = self._wanted.get(owner, 0) - len(self._live.get(owner, ()))
            if missing > 0 and sight.seconds > since + _REPLACED_SECONDS:
                raise Violation(
                    self.name,
                    f"{name} was released {sight.seconds - since:.0f} s ago, and nothing has taken its place",
                )

    def _begin_anew(self, owner: str, seconds: float) -> None:
        """A workload that has as many as it wants waits for nothing."""
        if len(self._live.get(owner, ())) >= self._wanted.get(owner, 0):
            for uid, (_, of, name) in self._released.items():
                if of == owner:
                    self._released[uid] = seconds, of, name

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

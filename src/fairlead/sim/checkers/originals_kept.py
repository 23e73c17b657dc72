"""originals-kept: an original that counts again is not taken away before its replacement runs."""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.model.marks import REPLACES
from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.live_children import GRACE_SECONDS
from fairlead.sim.violation import Violation


class OriginalsAreKept:
    """A pod whose node is back is deleted only for a replacement that runs, as far as its owner misses one."""

    name = "originals-kept"
    sees = frozenset({REPLICASETS.name, PODS.name})

    def __init__(self) -> None:
        self._pods: dict[str, dict[Key, Any]] = {}  # uid of an owner -> its pods
        self._wanted: dict[str, int] = {}
        self._ready_at: dict[Key, float] = {}  # when it was last seen to be ready

    def saw(self, sight: SeenChange) -> None:
        meta, pod = sight.last.metadata, sight.after
        if sight.key.resource == REPLICASETS.name:
            gone = pod is None or meta.deletion_timestamp
            self._wanted[meta.uid] = 0 if gone else sight.last.spec.replicas
            return
        if sight.key.resource != PODS.name or meta.controller is None:
            return
        mine = self._pods.setdefault(meta.controller.uid, {})
        leaves = pod is not None and pod.metadata.deletion_timestamp and sight.before is not None
        if leaves and not sight.before.metadata.deletion_timestamp and "returned of plane-" in sight.origin:
            self._judge(sight, mine)
        if pod is None:
            mine.pop(sight.key, None)
            return
        if sight.before is not None and sight.before.ready:
            self._ready_at[sight.key] = sight.seconds
        mine[sight.key] = pod

    def _judge(self, sight: SeenChange, mine: dict[Key, Any]) -> None:
        meta = sight.last.metadata
        live = [pod for pod in mine.values() if pod.live]
        if sight.last.finished or len(live) > self._wanted.get(meta.controller.uid, 0):
            return
        for key, pod in mine.items():
            recently = sight.seconds - self._ready_at.get(key, -1e9) < GRACE_SECONDS
            if pod.metadata.annotations.get(REPLACES) == meta.uid and (pod.ready or recently):
                return
        if meta.controller.kind == REPLICASETS.kind and self._wanted.get(meta.controller.uid, 0):
            raise Violation(
                self.name, f"{sight.origin} deleted {meta.name}, and no replacement of it was running"
            )

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

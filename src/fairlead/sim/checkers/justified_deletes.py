"""No plane takes a live child away from a living owner that then has fewer than it wants.

The premise of a deletion is its owner's: by uid, not by name, and by the count that was asked for. What is wanted may
have risen without the plane having seen it: until observed, and for a while after, the lower number still counts.
What a request does that arrives after its sender gave up, looked, found nothing and chose another pod is not held
against the plane: nothing can call it back. ReplicaSets only: their pods are deleted for being too many.
"""

from __future__ import annotations

from itertools import pairwise

from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.checkers.contract import Objects, Sight
from fairlead.sim.checkers.live_children import GRACE_SECONDS
from fairlead.sim.violation import Violation
from fairlead.store.contract import Key


class _Wants:
    __slots__ = ("deleted", "history", "key", "observed")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.history: list[tuple[int, float, int]] = []  # (generation, since, replicas)
        self.observed = 0
        self.deleted = False

    def least(self, seconds: float) -> int:
        history = self.history
        least = history[-1][2]
        for (_, _, replicas), (generation, since, _) in pairwise(history):
            if generation > self.observed or seconds - since < GRACE_SECONDS:
                least = min(least, replicas)
        return least


class JustifiedDeletes:
    name = "justified-deletes"

    def __init__(self) -> None:
        self._wants: dict[str, _Wants] = {}  # by uid
        self._live: dict[str, set[Key]] = {}  # by uid of the owner

    def saw(self, sight: Sight) -> None:
        if sight.key.resource == REPLICASETS.name:
            self._owner(sight)
        elif sight.key.resource == PODS.name:
            self._pod(sight)

    def quiesced(self, objects: Objects, seconds: float) -> None:
        """Says nothing about rest."""

    def _owner(self, sight: Sight) -> None:
        meta = sight.last.metadata
        wants = self._wants.setdefault(meta.uid, _Wants(sight.key))
        if not wants.history or wants.history[-1][0] != meta.generation:
            wants.history.append((meta.generation, sight.seconds, sight.last.spec.replicas))
        wants.observed = sight.last.status.observed_generation
        wants.deleted = sight.after is None or bool(meta.deletion_timestamp)

    def _pod(self, sight: Sight) -> None:
        owner = sight.last.metadata.controller
        if owner is None:
            return
        live = self._live.setdefault(owner.uid, set())
        if sight.after is not None and sight.after.live:
            live.add(sight.key)
            return
        if sight.key not in live:
            return
        live.discard(sight.key)
        wants = self._wants.get(owner.uid)
        by_plane = sight.origin.startswith("plane-") and bool(sight.last.metadata.deletion_timestamp)
        if wants is None or wants.deleted or not by_plane:
            return
        least = wants.least(sight.seconds)
        if len(live) < least:
            raise Violation(
                self.name,
                f"{sight.origin} deleted {sight.key.name}: {wants.key.name} has {len(live)} left and wants {least}",
            )

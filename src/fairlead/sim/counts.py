"""How many objects were made and removed on the way, by owner: what an end state does not show.

A plane that makes a pod twice and takes one away again ends as one that does neither. So pods, ReplicaSets and Jobs are
counted as they come and go, under the outermost owner that can be named in every run (a Deployment rather than its
sets). `World` adds one to those who look on; `endstate.py` compares what two runs counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from fairlead.model.views import JOBS, PODS, REPLICASETS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange

_COUNTED = frozenset({PODS.name, REPLICASETS.name, JOBS.name})

Counts = dict[str, tuple[int, int]]  # what -> how many were made, how many went


class CountedWrites:
    """Looks on as checkers do, and judges nothing."""

    name = "counted-writes"
    sees = frozenset(_COUNTED)
    outlives_loss = True

    def __init__(self) -> None:
        self._made: Counter[str] = Counter()
        self._gone: Counter[str] = Counter()
        self._outer: dict[str, str] = {}  # uid -> the outermost owner

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource not in _COUNTED:
            return
        before, last = sight.before, sight.last
        if before is not None and sight.after is not None and before.metadata.uid == last.metadata.uid:
            return
        of = self._owner(sight.key.namespace, last)
        label = f"{sight.key.resource} of {of}"
        if sight.after is not None:
            self._made[label] += 1
        if sight.after is None or before is not None:
            self._gone[label] += 1

    def _owner(self, namespace: str, view: Any) -> str:
        owner = view.metadata.controller
        if owner is None:
            found = "nobody"
        else:
            found = self._outer.get(owner.uid, f"{owner.kind} {namespace}/{owner.name}")
            self._outer[view.metadata.uid] = found
        return found

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Judges nothing."""

    def counts(self) -> Counts:
        return {what: (self._made[what], self._gone[what]) for what in sorted(self._made | self._gone)}

"""No eviction on an old allowance: when a healthy pod is evicted, the rest are as many as its budget wants.

The budget counts as it is written at that commit, so an allowance for an earlier generation is no excuse. What is
younger than `_USABLE_SECONDS` need not be known: a pod that fell ill, or was deleted, a moment ago still counts, and
an owner that wants more pods since a moment ago counts as before. Evictions are known at once. Pods of a node that has
missed a renewal of its lease are not healthy, whatever they last said: nodes renew every quarter of the time of their
lease, and are waited for half as long again.
"""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES
from fairlead.model.views import LEASES
from fairlead.sim.checkers.budgets import Guarded, is_healthy, was_evicted
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

# Two batches of the journal can take as long, and what is in them cannot be read yet.
_USABLE_SECONDS = 5.0
_MISSED_SHARE = 0.375


class FreshAllowance:
    name = "fresh-allowance"
    sees = frozenset({LEASES.name, *Guarded.sees})

    def __init__(self) -> None:
        self._guarded = Guarded()
        self._heard: dict[str, float] = {}  # node -> until when its last renewal is enough
        self._lost: dict[Key, tuple[float, dict[str, str]]] = {}  # pods that were healthy until then; labels

    def saw(self, sight: SeenChange) -> None:
        guarded = self._guarded
        if sight.key.resource == LEASES.name and sight.key.namespace == NODE_LEASES:
            self._lease(sight)
        if not guarded.saw(sight):
            return
        if is_healthy(sight.after):
            self._lost.pop(sight.key, None)
        elif was_evicted(sight):
            self._judge(sight)
        elif is_healthy(sight.before) and any(guarded.over(sight.key, sight.before.metadata.labels)):
            self._lost[sight.key] = (sight.seconds, sight.before.metadata.labels)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _lease(self, sight: SeenChange) -> None:
        if sight.after is None:
            self._heard.pop(sight.key.name, None)
            return
        duration = sight.after.spec.lease_duration_seconds
        self._heard[sight.key.name] = sight.seconds + _MISSED_SHARE * duration + _USABLE_SECONDS

    def _is_heard(self, node: str, seconds: float) -> bool:
        return seconds <= self._heard.get(node, seconds)

    def _judge(self, sight: SeenChange) -> None:
        guarded = self._guarded
        since = sight.seconds - _USABLE_SECONDS
        for at, _ in guarded.over_evicted(sight):
            healthy = sum(
                is_healthy(pod) and self._is_heard(pod.spec.node_name, sight.seconds)
                for _, pod in guarded.under(at)
            )
            excused = sum(
                lost >= since and any(each == at for each, _ in guarded.over(key, labels))
                for key, (lost, labels) in self._lost.items()
            )
            needed = guarded.needed(at, since)
            if healthy + excused < needed:
                raise Violation(
                    self.name,
                    f"{sight.key.name} was evicted: {at.name} wants {needed} healthy pods and has {healthy} left",
                )

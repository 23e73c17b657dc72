"""No eviction on an old allowance: when a healthy pod is evicted, the rest are as many as its budget wants.

The budget counts as it is written at that commit, so an allowance for an earlier generation is no excuse. Of the pods'
health what is younger than `_USABLE_SECONDS` need not be known: a pod that fell ill, or was deleted, a moment ago still
counts. Evictions are known at once.
"""

from __future__ import annotations

from fairlead.sim.checkers.budgets import Guarded, is_healthy, was_evicted
from fairlead.sim.checkers.contract import Objects, Sight
from fairlead.sim.violation import Violation
from fairlead.store.contract import Key

# Two batches of the journal can take as long, and what is in them cannot be read yet.
_USABLE_SECONDS = 5.0


class FreshAllowance:
    name = "fresh-allowance"

    def __init__(self) -> None:
        self._guarded = Guarded()
        self._lost: dict[Key, tuple[float, dict[str, str]]] = {}  # pods that were healthy until then; labels

    def saw(self, sight: Sight) -> None:
        guarded = self._guarded
        if not guarded.saw(sight):
            return
        if is_healthy(sight.after):
            self._lost.pop(sight.key, None)
        elif was_evicted(sight):
            self._judge(sight)
        elif is_healthy(sight.before) and any(guarded.over(sight.key, sight.before.metadata.labels)):
            self._lost[sight.key] = (sight.seconds, sight.before.metadata.labels)

    def quiesced(self, objects: Objects, seconds: float) -> None:
        """Says nothing about rest."""

    def _judge(self, sight: Sight) -> None:
        guarded = self._guarded
        since = sight.seconds - _USABLE_SECONDS
        for at, _ in guarded.over(sight.key, sight.before.metadata.labels):
            healthy = sum(is_healthy(pod) for _, pod in guarded.under(at))
            excused = sum(
                lost >= since and any(each == at for each, _ in guarded.over(key, labels))
                for key, (lost, labels) in self._lost.items()
            )
            needed = guarded.needed(at)
            if healthy + excused < needed:
                raise Violation(
                    self.name,
                    f"{sight.key.name} was evicted: {at.name} wants {needed} healthy pods and has {healthy} left",
                )

"""Voluntary disruptions in flight never exceed the budget: evicted pods that nothing has made up for yet.

Only evictions are counted, whatever else is ill. One is made up for when a pod that is new becomes ready; and there are
never more in flight than pods missing, so one that needs no replacement (its owner shrank) is forgotten. So is what
flew under a budget that is gone: one that is made again begins anew. Budgets over pods of which nothing says how many
there should be (`Guarded.is_scaled`) are left to `fresh-allowance`.
"""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.sim.checkers.budgets import Guarded, is_healthy, was_evicted
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class DisruptionsInFlight:
    name = "disruptions-in-flight"
    sees = Guarded.sees

    def __init__(self) -> None:
        self._guarded = Guarded()
        self._flying: dict[Key, list[str]] = {}  # budget -> names of pods, the oldest eviction first
        self._known: set[str] = set()  # uids of pods that were healthy once

    def saw(self, sight: SeenChange) -> None:
        if not self._guarded.saw(sight):
            if sight.after is None:
                self._flying.pop(sight.key, None)
            return
        if was_evicted(sight):
            self._evicted(sight)
        elif is_healthy(sight.after) and not is_healthy(sight.before):
            self._came(sight)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _evicted(self, sight: SeenChange) -> None:
        guarded = self._guarded
        for at, _ in guarded.over_evicted(sight):
            flying = self._flying.setdefault(at, [])
            flying.append(sight.key.name)
            if not guarded.is_scaled(at):
                continue
            self._forget_needless(at, flying)
            allowed = max(0, guarded.expected(at) - guarded.needed(at))
            if len(flying) > allowed:
                raise Violation(
                    self.name, f"{', '.join(flying)} are away at once: {at.name} allows {allowed} disruptions"
                )

    def _came(self, sight: SeenChange) -> None:
        meta = sight.after.metadata
        is_new = meta.uid not in self._known
        self._known.add(meta.uid)
        for at, _ in self._guarded.over(sight.key, meta.labels):
            flying = self._flying.get(at)
            if flying and is_new:
                flying.pop(0)
            if flying:
                self._forget_needless(at, flying)

    def _forget_needless(self, at: Key, flying: list[str]) -> None:
        """Of what is in flight no more is to be made up for than is missing: a rollout may have one pod too many."""
        healthy = sum(is_healthy(pod) for _, pod in self._guarded.under(at))
        missing = max(0, self._guarded.expected(at) - healthy)
        del flying[: max(0, len(flying) - missing)]

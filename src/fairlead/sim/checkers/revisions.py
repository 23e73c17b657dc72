"""Revisions strictly increase, over crashes of the server as well, and an object says the one it was committed at."""

from __future__ import annotations

from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class RevisionsIncrease:
    name = "revisions-increase"
    outlives_loss = True

    def __init__(self) -> None:
        self._newest = 0

    def saw(self, sight: SeenChange) -> None:
        if sight.revision <= self._newest:
            raise Violation(self.name, f"{sight.key} got {sight.revision} after {self._newest}")
        if sight.last.metadata.resource_version != str(sight.revision):
            raise Violation(
                self.name, f"{sight.key} at {sight.revision} says {sight.last.metadata.resource_version}"
            )
        self._newest = sight.revision

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

"""After rest nothing is written: a plane that has nothing to do says nothing but that it is there."""

from __future__ import annotations

from fairlead.model.views import LEASES
from fairlead.sim.checkers.contract import CommittedObjects, Sight
from fairlead.sim.violation import Violation


class QuietAtRest:
    name = "quiet-at-rest"

    def __init__(self) -> None:
        self._since: float | None = None

    def saw(self, sight: Sight) -> None:
        if self._since is not None and sight.key.resource != LEASES.name:
            raise Violation(
                self.name,
                f"{sight.origin or 'somebody'} wrote {sight.key.resource} {sight.key.name} "
                f"{sight.seconds - self._since:.1f} s after rest",
            )

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        self._since = seconds

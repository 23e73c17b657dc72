"""At most one holder's writes are accepted: what a plane wrote as leader was committed while the fence was its own."""

from __future__ import annotations

from fairlead.control.leadership import FENCE, NAMESPACE, RESOURCE
from fairlead.sim.checkers.contract import Objects, Sight
from fairlead.sim.violation import Violation
from fairlead.store.contract import Key

_FENCE = Key(RESOURCE, NAMESPACE, FENCE)


class OneLeader:
    name = "one-leader"

    def __init__(self) -> None:
        self._holder = ""

    def saw(self, sight: Sight) -> None:
        if sight.key == _FENCE:
            self._holder = "" if sight.after is None else sight.after.spec.holder_identity
        elif "plane-" in sight.origin and not sight.origin.endswith(self._holder or "nobody"):
            raise Violation(
                self.name,
                f"{sight.key.resource} {sight.key.name} was written by {sight.origin} while {self._holder} led",
            )

    def quiesced(self, objects: Objects, seconds: float) -> None:
        """Says nothing about rest."""

"""At most one holder's writes are accepted: what a plane wrote as leader was committed while the fence was its own.

Where the API knows no fences the lease says whose time it is, and what arrives after its sender gave up is nobody's to
stop: that is not judged here, and the other checkers see what comes of it.
"""

from __future__ import annotations

from fairlead.control.leadership import FENCE, LEASE, NAMESPACE, RESOURCE
from fairlead.model.key import Key
from fairlead.sim.checkers.contract import LATE, CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class OneLeader:
    name = "one-leader"

    def __init__(self, fencing: bool = True) -> None:
        self._holder = ""
        self._said_by = Key(RESOURCE, NAMESPACE, FENCE if fencing else LEASE)
        self._judges_late = fencing

    def saw(self, sight: SeenChange) -> None:
        if sight.key == self._said_by:
            self._holder = "" if sight.after is None else sight.after.spec.holder_identity
        elif sight.by_plane and not sight.origin.endswith(self._holder or "nobody"):
            if not self._judges_late and sight.origin.startswith(LATE):
                return
            raise Violation(
                self.name,
                f"{sight.key.resource} {sight.key.name} was written by {sight.origin} while {self._holder} led",
            )

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

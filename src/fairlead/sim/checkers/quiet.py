"""After rest nothing is written: a plane that has nothing to do says nothing but that it is there.

What is refused, or fits nowhere, is tried now and then for as long as that lasts, and the Event that tells of it counts
one more. Such an Event, told again after a long while, is no unrest (`Retold`); one that is told often is.
"""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.model.views import LEASES
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_EVENTS = "events"
_AGAIN_SECONDS = 120.0


class Retold:
    """Which writes do nothing but tell an Event again that was told long ago. Asked of every write, once."""

    def __init__(self) -> None:
        self._told: dict[Key, float] = {}  # when last

    def is_so(self, key: Key, is_there: bool, seconds: float) -> bool:
        if key.resource != _EVENTS:
            return False
        last, self._told[key] = self._told.get(key, seconds), seconds
        return is_there and seconds - last >= _AGAIN_SECONDS


class QuietAtRest:
    name = "quiet-at-rest"

    def __init__(self) -> None:
        self._since: float | None = None
        self._retold = Retold()

    def saw(self, sight: SeenChange) -> None:
        retold = self._retold.is_so(sight.key, sight.after is not None, sight.seconds)
        if self._since is not None and sight.key.resource != LEASES.name and not retold:
            raise Violation(
                self.name,
                f"{sight.origin or 'somebody'} wrote {sight.key.resource} {sight.key.name} "
                f"{sight.seconds - self._since:.1f} s after rest",
            )

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        self._since = seconds

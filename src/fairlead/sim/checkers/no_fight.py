"""Nobody fights: two writers do not undo each other's word on an object, again and again, as fast as they can be told.

So many changes of one object (`_TURNS`), by two writers by turns, each within `_SOON` of the other's: neither waits for
anything but the other. A fight that ends by itself is one all the same: it is thousands of writes in ten seconds.
"""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_TURNS, _SOON = 24, 0.5
_NOBODY = frozenset({"", "people", "the system"})


class NoFight:
    name = "no-fight"

    def __init__(self) -> None:
        # By object: who wrote last, who before, when, and how often they took turns.
        self._last: dict[Key, tuple[str, str, float, int]] = {}

    def saw(self, sight: SeenChange) -> None:
        writer = sight.origin
        last, before, at, turns = self._last.get(sight.key, ("", "", 0.0, 0))
        if sight.after is None or writer == last or writer in _NOBODY:
            turns = 0
        elif writer == before and sight.seconds - at <= _SOON:
            turns += 1
            if turns >= _TURNS:
                what = f"{sight.key.resource} {sight.key.name}"
                told = f"{what} was changed {turns} times by {writer} and {last} by turns"
                raise Violation(self.name, told)
        else:
            turns = 1
        self._last[sight.key] = (writer, last, sight.seconds, turns)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """A fight that does not end is found on the way."""

"""Looks that could find nothing new, and are therefore not made. A Controller holds one.

- **A look at one's own last write.** Most turns end by reporting in the object's status, and the Decider knows that
  nothing is left to do then (`Decision.is_final`). The write comes back as a change of that object. If nothing else led
  to the turn, and the object is still the very version that was written, the turn is left out.
- **A look before the rest is over.** A decision can name a time before which another one could do nothing
  (`Decision.rest_until`), because something must not be written again so soon. What changes meanwhile is looked at
  once, at that time.

Forgetting is safe here, remembering is not: whoever is not sure decides.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.control.turn import Turn
from fairlead.model.key import Key


class Needless:
    """`revision_of`: the version of an object that the mirrors show; 0: none."""

    def __init__(self, revision_of: Callable[[Key], int]) -> None:
        self._revision_of = revision_of
        self._written: dict[Key, tuple[int, float]] = {}  # what ended a turn, and its `again_at`
        self._rests: dict[Key, float] = {}  # until when, the oldest first
        self.left_out = 0  # turns; a plain count

    def forget(self) -> None:
        """What was written is of a former time as leader."""
        self._written.clear()
        self._rests.clear()

    def began(self, key: Key) -> None:
        self._written.pop(key, None)
        self._rests.pop(key, None)

    def finished(self, turn: Turn, now: float) -> None:
        """All effects of this turn have happened."""
        key, decision = turn.key, turn.decision
        if decision.rest_until > now:
            self._forget_rested(now)
            self._rests[key] = decision.rest_until
        if decision.is_final and turn.writes and not turn.is_open and not turn.is_held:
            last = turn.writes[-1]
            if last.key == key:
                self._written[key] = (last.revision, decision.again_at)

    def earliest(self, key: Key, at: float) -> float:
        """When a look that is wanted at this time is worth making."""
        return max(at, self._rests.get(key, 0.0)) if self._rests else at

    def is_own(self, key: Key, cause: Key | None) -> bool:
        """Whether all that led to a turn is what the last turn wrote."""
        written = self._written.get(key)
        return written is not None and cause == key and self._revision_of(key) == written[0]

    def leave_out(self, key: Key) -> float:
        """The turn is not made. When the last one wanted another; 0: not at all."""
        self.left_out += 1
        return self._written.pop(key)[1]

    def _forget_rested(self, now: float) -> None:
        while self._rests and (oldest := next(iter(self._rests))) and self._rests[oldest] <= now:
            del self._rests[oldest]

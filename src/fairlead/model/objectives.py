"""How much of an objective was kept: sums over what a ServiceLevelObjective's status says was seen.

A status holds the instants at which availability changed, so that what is spent follows from it at any moment, and
nothing has to be written because time goes by (laws.md 7). A share of replicas that is missing counts as that share of
the time. Used by the kind's columns, by the controller and by metrics. Pure.

    budget   (1 - objective) * window: the seconds that may be missed within a window
    spent    what was missed within the last window, as a share of the budget
    burn     how fast it is being spent: missed within the last hour (or a 24th of the window, if that is less), as a
             multiple of what would spend the budget in just a window
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: bound: objects | window of a ServiceLevelObjective that says none | -
DEFAULT_WINDOW_SECONDS = 86_400
_HOUR = 3600.0
_SHORT_SHARE = 24.0


class Seen(NamedTuple):
    """How available it was from an instant on."""

    at: float
    available: int
    wanted: int

    @property
    def lacking(self) -> float:
        """The share that was missing."""
        return max(0.0, 1.0 - self.available / self.wanted) if self.wanted > 0 else 0.0


class Lacked(NamedTuple):
    """What was missed before the first that is known in detail; counts until all of it is out of the window."""

    since: float = 0.0
    until: float = 0.0
    seconds: float = 0.0


class ObjectiveAccount(NamedTuple):
    """`seen`: oldest first."""

    objective: float  # percent
    window: float
    seen: Sequence[Seen]
    earlier: Lacked = Lacked()

    @property
    def budget(self) -> float:
        return (1.0 - self.objective / 100.0) * self.window

    def lacked(self, start: float, end: float) -> float:
        """Seconds that were missed between two instants."""
        total = 0.0
        for index, each in enumerate(self.seen):
            until = self.seen[index + 1].at if index + 1 < len(self.seen) else end
            total += each.lacking * max(0.0, min(until, end) - max(each.at, start))
        return total

    def spent(self, now: float) -> float:
        """The share of the budget; above 1 the objective is missed."""
        lacked = self.lacked(now - self.window, now)
        if self.earlier.until > now - self.window:
            lacked += self.earlier.seconds
        return lacked / self.budget

    def burn(self, now: float) -> float:
        short = min(_HOUR, self.window / _SHORT_SHARE)
        return self.lacked(now - short, now) / short / (1.0 - self.objective / 100.0)

    def availability(self, now: float) -> float:
        """Of the time that was seen within the window; 1 where none was."""
        since = self.earlier.since or (self.seen[0].at if self.seen else now)
        seconds = now - max(since, now - self.window)
        return 1.0 - min(1.0, self.spent(now) * self.budget / seconds) if seconds > 0 else 1.0

    def turns_at(self, now: float) -> float:
        """When what is spent comes to 1, or falls below, if nothing changes; 0: never. It is a line between the
        instants at which something begins to leave the window, so that these are enough to look at."""
        is_over = self.spent(now) >= 1.0
        leaving = [each.at + self.window for each in self.seen]
        if self.earlier.until:
            leaving.append(self.earlier.until + self.window)
        last = now
        for at in (*sorted(each for each in leaving if each > now), now + 2 * self.window):
            here, there = self.spent(last), self.spent(at)
            if (there >= 1.0) != is_over:
                share = (1.0 - here) / (there - here) if there != here else 1.0
                return last + max(0.0, min(1.0, share)) * (at - last)
            last = at
        return 0.0

"""How far a mirror is behind: which changes of its resource were published and have not reached it, and since when.

Kept by the driver of a plane (`runtime/server/plane_driver.py`), read by metrics and `control/diagnosis.py`. Nothing is
decided by it: what a decision needs of a mirror is its revision.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

_MARKS_MAX = 64


class MirrorLag(NamedTuple):
    """`revisions`: from the mirror to the newest change of its resource, in revisions of the store, which count the
    changes of all resources; 0 is exact. `seconds`: how old the oldest change is that it lacks, or how long it has not
    been following. `trouble`: why it does not follow."""

    revisions: int = 0
    seconds: float = 0.0
    trouble: str = ""

    @property
    def told(self) -> str:
        why = f": {self.trouble}" if self.trouble else ""
        return f"{self.seconds:.1f} s and {self.revisions} revisions behind{why}"


class Arrivals:
    """When changes of one resource were published, as far as they have not been delivered. Bounded: beyond that what
    came later counts as having come with the last that is remembered, so that it seems older, never younger."""

    __slots__ = ("_marks",)

    def __init__(self) -> None:
        self._marks: deque[tuple[int, float]] = deque()  # up to this revision, published then

    def published(self, revision: int, now: float) -> None:
        marks = self._marks
        if len(marks) >= _MARKS_MAX:
            marks[-1] = (revision, marks[-1][1])
        else:
            marks.append((revision, now))

    def delivered(self, revision: int) -> None:
        marks = self._marks
        while marks and marks[0][0] <= revision:
            marks.popleft()

    def lag(self, revision: int, now: float) -> MirrorLag:
        """Of a mirror that shows all up to this revision."""
        self.delivered(revision)
        if not self._marks:
            return MirrorLag()
        return MirrorLag(self._marks[-1][0] - revision, max(0.0, now - self._marks[0][1]))

"""The trail of a run: one step for everything that happened, with its time, whose it was, and the step that led to it.

Only runs that somebody will look at keep one (`fairlead sim show`, `check`, artifacts). Causes cost nobody a thought:
the timeline remembers which step was the last one when something was put on it (`time.py`), and a step that is noted
while that runs has this one as its cause. So a commit leads back to the call that asked for it, the call to the watch
event or timer that woke its controller, and that to the commit before.
"""

from __future__ import annotations

from typing import NamedTuple

NO_CAUSE = -1
COMMITTED = "committed"  # the kind of a step that has a revision, an object and its writer


class TrailStep(NamedTuple):
    number: int
    ms: int  # virtual time
    actor: str  # plane-0, server, people, a node ...
    kind: str  # call, commit, told, record, crash, fault ...
    text: str
    data: str = ""
    cause: int = NO_CAUSE  # number of the step that led to this one

    def __str__(self) -> str:
        return f"{self.ms:>7} {self.actor} {self.kind} {self.text} {self.data}".rstrip()


class Trail(list[TrailStep]):
    """Grows at its end only."""

    def chain(self, number: int) -> list[TrailStep]:
        """What led to this step, the earliest first; the step itself is the last."""
        found: list[TrailStep] = []
        while number != NO_CAUSE:
            found.append(self[number])
            number = self[number].cause
        return found[::-1]

    def shown_by(self, revision: int, cause: int) -> int:
        """The commit of this revision, if it was noted; else the cause, unless that is a commit: it was only the last
        that was noted."""
        begins = f"{revision} "
        for step in reversed(self):
            if step.kind == COMMITTED and step.text.startswith(begins):
                return step.number
        return NO_CAUSE if cause != NO_CAUSE and self[cause].kind == COMMITTED else cause

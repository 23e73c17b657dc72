"""Who hears of a commit, in order: one that fails keeps neither the others nor the commit from going on.

Made by `serving.py`; called by the driver of the store between a commit and its answers. What is raised here would stop
the driver in the middle of a batch: who wrote would wait for ever, and so would everybody after. So it is logged, at a
bounded rate: what fails may do so at every commit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from fairlead.store.contract import CommittedChange
from fairlead.wire.rated_log import RatedLog

log = logging.getLogger("fairlead.runtime")

_LINES_BURST, _LINES_PER_SECOND = 20, 1
Hear = Callable[[tuple[CommittedChange, ...]], object]


class Hearing:
    """`hearers`: each by a name for people."""

    def __init__(self, **hearers: Hear) -> None:
        self._hearers = tuple(hearers.items())
        self.failed: set[str] = set()  # by name
        self._again = RatedLog(log, "commits that could not be taken in", _LINES_PER_SECOND, _LINES_BURST)

    def __call__(self, changes: tuple[CommittedChange, ...]) -> None:
        for name, hear in self._hearers:
            try:
                hear(changes)
            except Exception as error:  # noqa: BLE001 - whatever it is, who wrote must be answered
                self._tell(name, error)

    def _tell(self, name: str, error: Exception) -> None:
        """Where it came from is told once."""
        told = f"{name} could not take in a commit: {error}"
        if name not in self.failed:
            self.failed.add(name)
            log.error("%s", told, exc_info=error)
        elif self._again.has_room():
            self._again.write(told, {}, logging.ERROR)

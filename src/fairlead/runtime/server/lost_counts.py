"""Completes the log of decisions after a plane was killed: blocked decisions that it had counted and not written down.

A plane leaves each count in the ring of turns (`control/blocked_counts.py`). When a plane of that name begins anew, in
this process (`serving.py`) or in another (`plane_reports.py`), what its former life counted last of each object is
compared with the log of decisions, and written where that does not have it. Done elsewhere than on the loop where it
takes long (`answering.py`), and twice is once: what was written covers the count.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from fairlead.control.blocked_counts import COUNTED, Counted, covers, read_counted, recovered
from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.core import codec
from fairlead.core.errors import ApiError
from fairlead.core.times import parse_time
from fairlead.explain.asking import Asking
from fairlead.explain.index import DecisionIndex
from fairlead.explain.records import touching
from fairlead.port.request import Reply
from fairlead.runtime.server.answering import Answering
from fairlead.store.contract import Journal, Note
from fairlead.store.tail import lines_backwards, newest_line

log = logging.getLogger("fairlead.plane")

#: bound: plane | turns in which counts of a killed plane are looked for | what is older stays counted there
COUNTS_LOOKED_AT_MAX = 20_000
#: bound: plane | objects whose counts are completed after a kill | those counted last
COUNTS_RECOVERED_MAX = 4_096
_RECORDS = 50  # of an object, in which the one that was repeated is looked for


class LostCounts:
    def __init__(
        self,
        journal: Journal,
        index: DecisionIndex,
        answering: Answering,
        note: Callable[[tuple[Note, ...]], None],
    ) -> None:
        self._journal, self._index, self._answering, self._note = journal, index, answering, note

    def begins(self, identity: str, at: float) -> None:
        """A plane of this name began then: what one of that name counted before is complete."""

        def done(reply: Reply | Exception) -> None:
            if isinstance(reply, Exception):
                log.warning("what %s had counted before is not completed: %s", identity, reply)

        try:
            self._answering.later(self.recover(identity, at)).start(done)
        except ApiError as error:
            done(error)

    def recover(self, identity: str, before: float) -> Asking[int]:
        """How many records were written."""
        last: dict[tuple[str, str], tuple[str, Counted]] = {}
        looked_at = 0
        for window in lines_backwards(self._journal, TURNS, newest_line(self._journal, TURNS)):
            for _, _, note in window:
                if COUNTED not in note.body:
                    continue
                line = read_counted(note.body)
                if line.by != identity or parse_time(line.time) >= before:
                    continue
                for about, of, first, newest in line.counted:
                    if len(last) < COUNTS_RECOVERED_MAX:
                        counted = Counted(of, first, newest)
                        last.setdefault((line.controller, about), (line.time, counted))
            looked_at += len(window)
            if looked_at >= COUNTS_LOOKED_AT_MAX:
                break
            yield None
        notes: list[Note] = []
        for (controller, about), (time, counted) in reversed(last.items()):
            found = yield from touching(self._journal, self._index, [about], 0, _RECORDS)
            records = [codec.decode(each.note.body) for each in found]
            own = [each for each in records if each.get("controller") == controller and "id" in each]
            repeated = next((each for each in own if each["id"] == counted.of), None)
            if repeated is not None and not any(covers(each, counted) for each in own):
                notes.append(Note(DECISIONS, recovered(repeated, time, counted)))
        if notes:
            self._note(tuple(notes))
            log.warning("%d counts of blocked decisions of a plane that was killed are completed", len(notes))
        return len(notes)

"""Lines of the plane's logs about some objects: decisions that are about them or touch them, and requests that named
them.

    records_about(sources, keys, since, until)    the one door to both logs; the index says which lines those are

The newest first, a page at a time, between which others have their turn, because what people ask about is mostly young.
Called by `family.py` and `telling.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fairlead.api.audit import recording
from fairlead.control import record as recorded
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.explain.asking import Asking
from fairlead.explain.records import touching
from fairlead.explain.sources import Sources
from fairlead.explain.timeline.moment import key_text
from fairlead.model.key import Key
from fairlead.store.tail import first_after

Json = dict[str, Any]
AUDIT, DECISIONS = recording.STREAM, recorded.STREAM
#: bound: plane | lines of one log that a timeline tells | older ones are left out, which it says; `--at` finds them
LINES_FOUND_MAX = 600
_PAGE = 200
_WRITTEN_SECONDS = 5.0  # a line is written so long after the instant that it names, at most


class Line(NamedTuple):
    stream: str
    sequence: int
    at: float
    revision: int  # that a request was committed at; 0: it changed nothing
    record: Json

    @property
    def objects(self) -> tuple[str, ...]:
        """What it is about, and what it touches."""
        record = self.record
        if self.stream == AUDIT:
            return (_target(record),)
        return (record.get("object", ""), *record.get("about", ()))


class LinesAbout(NamedTuple):
    """`cut_at`: there may be older ones, and before this instant not all are among these; 0: they are all."""

    lines: list[Line]
    cut_at: float = 0.0


def records_about(
    sources: Sources, keys: Iterable[Key], since: float = 0.0, until: float = 0.0
) -> Asking[LinesAbout]:
    """Of the decisions and of the audit log, the oldest first. `until`: 0 is now."""
    wanted = frozenset(map(key_text, keys))
    if not wanted:
        return LinesAbout([])
    decided = yield from _indexed(sources, DECISIONS, wanted, since, until)
    written = yield from _indexed(sources, AUDIT, wanted, since, until)
    found = sorted([*decided, *written], key=lambda line: line.at)
    cut = (each[-1].at for each in (decided, written) if len(each) >= LINES_FOUND_MAX)
    return LinesAbout(found, max(cut, default=0.0))


def _indexed(
    sources: Sources, stream: str, wanted: frozenset[str], since: float, until: float
) -> Asking[list[Line]]:
    """The newest first."""
    found: list[Line] = []
    before, keys = 0, sorted(wanted)
    if until:
        before = first_after(sources.journal, stream, until + _WRITTEN_SECONDS)
    while len(found) < LINES_FOUND_MAX:
        page = yield from touching(sources.journal, sources.index, keys, before, _PAGE, stream)
        for sequence, _, note in page:
            record = codec.decode(note.body)
            line = Line(stream, sequence, parse_time(record["time"]), note.revision, record)
            if line.at >= since and (not until or line.at <= until):
                found.append(line)
        if len(page) < _PAGE or page[-1].at < since:
            break
        before = page[-1].sequence
    return found


def _target(record: Json) -> str:
    about = record["object"]
    group, resource = about.get("group", ""), about.get("resource", "")
    place = Key(
        f"{resource}.{group}" if group else resource, about.get("namespace", ""), about.get("name", "")
    )
    return key_text(place)

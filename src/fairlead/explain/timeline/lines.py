"""Lines of the plane's logs about some objects: decisions that are about them or touch them, and requests that named
them.

    records_about(sources, keys, since)    the one door: whoever keeps an index by object puts it behind this

Read backwards in stretches, between which others have their turn, because what people ask about is mostly young. Only
lines that name one of the objects are decoded. Called by `family.py` and `telling.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
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
from fairlead.store.tail import lines_backwards, newest_line

Json = dict[str, Any]
AUDIT, DECISIONS = recording.STREAM, recorded.STREAM
#: bound: plane | lines of one log that a timeline looks through | older ones are not found
LINES_READ_MAX = 200_000
#: bound: plane | decisions that a timeline tells | older ones are left out
LINES_FOUND_MAX = 20_000
_PAGE = 500
_FEW = 8
_NAMES = re.compile(rb'"name":"([^"]*)"')


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


def records_about(sources: Sources, keys: Iterable[Key], since: float = 0.0) -> Asking[list[Line]]:
    """Of the decisions and of the audit log, the oldest first."""
    wanted = frozenset(map(key_text, keys))
    if not wanted:
        return []
    found = yield from _decided(sources, wanted, since)
    found += yield from _search(sources, AUDIT, wanted, _names_names(wanted), since)
    return sorted(found, key=lambda line: line.at)


def _decided(sources: Sources, wanted: frozenset[str], since: float) -> Asking[list[Line]]:
    """Decisions are found by the index of them."""
    found: list[Line] = []
    before, keys = 0, sorted(wanted)
    while len(found) < LINES_FOUND_MAX:
        page = yield from touching(sources.journal, sources.index, keys, before, _PAGE)
        for sequence, _, note in page:
            record = codec.decode(note.body)
            line = Line(DECISIONS, sequence, parse_time(record["time"]), note.revision, record)
            if line.at >= since:
                found.append(line)
        if len(page) < _PAGE or page[-1].at < since:
            break
        before = page[-1].sequence
    return found


def _search(
    sources: Sources, stream: str, wanted: frozenset[str], likely: Callable[[bytes], bool], since: float
) -> Asking[list[Line]]:
    journal, found, read = sources.journal, [], 0
    for window in lines_backwards(journal, stream, newest_line(journal, stream)):
        for sequence, _, note in window:
            if likely(note.body):
                record = codec.decode(note.body)
                line = Line(stream, sequence, parse_time(record["time"]), note.revision, record)
                if line.at >= since and not wanted.isdisjoint(line.objects):
                    found.append(line)
        read += len(window)
        if read >= LINES_READ_MAX or (window and window[-1][1] < since):
            break
        yield None
    return found


def _names_names(wanted: frozenset[str]) -> Callable[[bytes], bool]:
    names = frozenset(each.rpartition("/")[2].encode() for each in wanted)
    texts = [b'"name":"%s"' % each for each in names]
    if len(texts) <= _FEW:
        return lambda body: any(text in body for text in texts)
    return lambda body: not names.isdisjoint(_NAMES.findall(body))


def _target(record: Json) -> str:
    about = record["object"]
    group, resource = about.get("group", ""), about.get("resource", "")
    place = Key(
        f"{resource}.{group}" if group else resource, about.get("namespace", ""), about.get("name", "")
    )
    return key_text(place)

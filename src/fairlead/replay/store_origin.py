"""A store that is at hand as the origin of a capture: of a data directory without its server, and in tests."""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterator

import msgspec

import fairlead
from fairlead.control.batch_lines import BatchLines
from fairlead.control.instructions import DECISIONS
from fairlead.core.times import parse_time
from fairlead.model.catalog import CATALOG
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.replay.capture import LogLine, PlaneFacts
from fairlead.replay.past import PastChange, ResourceHistory
from fairlead.replay.redaction import redact
from fairlead.replay.stored import read_history
from fairlead.store.contract import Entry, Journal, Note, Reader
from fairlead.store.instants import revision_at

_PAGE = 1_000


class _Brief(msgspec.Struct):
    time: str = ""
    term: str = ""


_brief = msgspec.json.Decoder(_Brief).decode


def _with_revision(note: Note) -> bytes:
    """As readers of the log get it: with the revision that its write got."""
    return note.body if not note.revision else b'%s,"revision":%d}' % (note.body[:-1], note.revision)


class StoreOrigin:
    """`key`: drawn for this capture, to take secrets out; `also`: what else is taken out (`redaction.py`)."""

    def __init__(self, reader: Reader, journal: Journal, key: bytes, also: Collection[str] = ()) -> None:
        self._reader, self._journal, self._key, self._also = reader, journal, key, also

    def facts(self, since: float) -> PlaneFacts:
        found = revision_at(self._journal, self._reader.revision, since)
        resources = {kind.resource for kind in CATALOG} | {
            entry.key.name for entry in self._reader.list(DEFINITIONS)
        }
        return PlaneFacts(
            fairlead.__version__,
            platform.python_version(),
            found.revision if found is not None else 1,
            tuple(sorted(resources)),
        )

    def lines(self, stream: str, since: float) -> Iterator[LogLine]:
        after = 0
        batches = BatchLines(self._journal)
        while notes := self._journal.notes(stream, after, _PAGE):
            after = notes[-1][0]
            for sequence, _, note in notes:
                if parse_time(_brief(note.body).time) >= since:
                    yield LogLine(sequence, _with_revision(batches.whole(sequence, note)))

    def opening(self, term: str) -> LogLine | None:
        after, name = 0, term.encode()
        while notes := self._journal.notes(DECISIONS, after, _PAGE):
            after = notes[-1][0]
            for sequence, _, note in notes:
                if name in note.body and _brief(note.body).term == term:
                    return LogLine(sequence, note.body)
        return None

    def history(self, resource: str, start: int) -> ResourceHistory:
        found = read_history(self._reader, resource, max(start, self._reader.floor(resource)))
        return found._replace(
            entries=tuple(map(self._redacted, found.entries)),
            changes=[PastChange(kind, self._redacted(entry)) for kind, entry in found.changes],
        )

    def _redacted(self, entry: Entry) -> Entry:
        data = redact(entry.key.resource, entry.data, self._key, self._also)
        return entry if data is entry.data else msgspec.structs.replace(entry, data=data)

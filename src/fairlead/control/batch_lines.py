"""Completes the line of an attempt to place a pod by what the line of its batch says for all of them.

    BatchLines(journal).whole(sequence, note) -> Note      with `policy` and `reads`, as if they stood in it

`attempts.py` writes what attempts share once, before them. Whoever reads the log of decisions for people or for a
capture goes through here (`explain/records.py`, `replay/store_origin.py`, `runtime/server/extensions.py`), so that no
reader knows which line had what. Lines of releases that repeated it in each line are whole already. Where the log no
longer has the batch the line stays as it is: its oldest lines go, and a batch may be cut in two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import msgspec

from fairlead.control.instructions import DECISIONS
from fairlead.store.contract import Journal, Note

_READS, _ASSUMED = b'"reads":', b'"assumed":'
_POSITION = re.compile(rb'"batch":(\d+),"position":(\d+),')
_BETWEEN_MAX = 20_000  # lines of one batch, and of what others wrote among them
_PAGE_MIN, _PAGE_MAX = 4, 1_000


class SharedLine(msgspec.Struct, frozen=True):
    """The line of a batch, as far as its attempts share it."""

    time: str
    batch: int
    policy: msgspec.Raw
    reads: msgspec.Raw


class _Named(msgspec.Struct, frozen=True, gc=False):
    """By what an attempt knows its batch: numbers begin anew with a process."""

    time: str = ""
    batch: int = 0


_shared = msgspec.json.Decoder(SharedLine).decode
_named = msgspec.json.Decoder(_Named).decode


class BatchLines:
    """For one answer: the batch that was looked for last serves the next line as well, found or not."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._last: SharedLine | None = None
        self._missed: tuple[int, str] | None = None

    def whole(self, sequence: int, note: Note) -> Note:
        body = note.body
        found = _POSITION.search(body) if note.stream == DECISIONS and _READS not in body else None
        if found is None:
            return note
        number, position = int(found[1]), int(found[2])
        shared = self._batch(sequence, position, number, _named(body).time)
        if shared is None:
            return note
        told = b'"policy":%b,"reads":%b,' % (bytes(shared.policy), bytes(shared.reads))
        completed = body[: found.end()] + told + body[found.end() :]
        return Note(note.stream, completed, note.revision)

    def _batch(self, sequence: int, position: int, number: int, time: str) -> SharedLine | None:
        last = self._last
        if last is not None and (last.batch, last.time) == (number, time):
            return last
        if self._missed == (number, time):
            return None
        body = find_batch(self._journal, sequence, position, number, time)
        if body is None:
            self._missed = number, time
            return None
        self._last = _shared(body)
        return self._last


def find_batch(journal: Journal, sequence: int, position: int, number: int, time: str) -> bytes | None:
    """The line of the batch that an attempt was part of, which is not far before it; None if the log no longer has
    it. `explain/records.py` asks for the whole of it."""
    # Mostly nothing stands between the attempts and the line before the first of them.
    near = journal.notes(DECISIONS, sequence - position - 2, 1) if sequence > position + 1 else []
    wanted = b'"batch":%d,' % number
    for place, _, note in chain(near, _lines_before(journal, sequence)):
        if place < sequence - _BETWEEN_MAX:
            break
        if wanted in note.body and _ASSUMED in note.body:
            named = _named(note.body)
            if (named.batch, named.time) == (number, time):
                return note.body
    return None


def _lines_before(journal: Journal, sequence: int) -> Iterator[tuple[int, float, Note]]:
    """The nearest first: few are read at once where the batch is near, as it mostly is."""
    page = _PAGE_MIN
    while lines := journal.notes_before(DECISIONS, sequence, page):
        yield from reversed(lines)
        sequence, page = lines[0][0], min(page * 4, _PAGE_MAX)

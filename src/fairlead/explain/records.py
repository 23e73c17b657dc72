"""Finds what was recorded: lines that touch an object, and attempts to place a pod, the newest first.

What touches what is known to the index (`index.py`), which is asked elsewhere; the lines themselves are read here, a
few at a time. Called by `explaining.py` and `runtime/server/decision_lines.py`; `control/attempts.py` and
`control/record.py` wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from fairlead.control.attempts import SCHEDULER
from fairlead.control.batch_lines import BatchLines, find_batch
from fairlead.control.record import STREAM
from fairlead.core import codec
from fairlead.explain.asking import Asking
from fairlead.explain.index import DecisionIndex, touched_by
from fairlead.model.views import Pod
from fairlead.store.contract import Journal, Note

Json = dict[str, Any]
_PAGE = 100  # lines that are read before others have their turn


class NumberedRecord(NamedTuple):
    sequence: int
    record: Json


class StoredNote(NamedTuple):
    sequence: int
    at: float
    note: Note


def touching(
    journal: Journal,
    index: DecisionIndex,
    keys: Sequence[str],
    before: int = 0,
    limit: int = _PAGE,
    stream: str = STREAM,
) -> Asking[list[StoredNote]]:
    """Lines that touch one of these objects, the newest first. Those of attempts say what their batch read."""
    found: list[StoredNote] = []
    batches = BatchLines(journal)
    wanted = frozenset(keys)
    while len(found) < limit:
        page = min(_PAGE, limit - len(found))
        sequences: list[int] = yield partial(index.sequences, keys, before, page, stream)
        for sequence in sequences:
            lines = journal.notes(stream, sequence - 1, 1)
            if lines and lines[0][0] == sequence and not wanted.isdisjoint(touched_by(lines[0][2].body)):
                found.append(StoredNote(sequence, lines[0][1], batches.whole(sequence, lines[0][2])))
        if len(sequences) < page:
            break
        before = sequences[-1]
    return found


def attempts_of(
    journal: Journal,
    index: DecisionIndex,
    namespace: str,
    name: str,
    limit: int = 1,
    wanted: Callable[[NumberedRecord], bool] = lambda each: True,
) -> Asking[list[NumberedRecord]]:
    """Attempts to place pods of that name, the newest first."""
    key, before = f"pods/{namespace}/{name}", 0
    found: list[NumberedRecord] = []
    while True:
        lines = yield from touching(journal, index, [key], before, _PAGE)
        for sequence, _, note in lines:
            line = NumberedRecord(sequence, codec.decode(note.body))
            if _is_attempt(line.record, key) and wanted(line):
                found.append(line)
                if len(found) == limit:
                    return found
        if len(lines) < _PAGE:
            return found
        before = lines[-1].sequence


def attempt_of(
    journal: Journal, index: DecisionIndex, pod: Pod, node: str | None = None
) -> Asking[NumberedRecord | None]:
    """The newest attempt to place this very pod, or the one that put it on that node; None: not on record."""
    meta = pod.metadata

    def is_it(each: NumberedRecord) -> bool:
        return each.record["uid"] == meta.uid and node in (None, each.record.get("node"))

    found = yield from attempts_of(journal, index, meta.namespace, meta.name, 1, is_it)
    return found[0] if found else None


def _is_attempt(record: Json, key: str) -> bool:
    return record["object"] == key and record["controller"] == SCHEDULER and "batch" in record


def batch_of(journal: Journal, attempt: NumberedRecord) -> Json | None:
    """The record of the batch that an attempt was part of; None if the log no longer has it."""
    of = attempt.record
    body = find_batch(journal, attempt.sequence, of.get("position", 0), of["batch"], of["time"])
    if body is None:
        return None
    record: Json = codec.decode(body)
    return record

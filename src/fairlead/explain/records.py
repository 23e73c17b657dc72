"""Finds what was recorded of attempts to place a pod, in the bounded log of decisions. Reads backwards: what people ask
about is mostly young. Called by `explaining.py`; `control/attempts.py` wrote the lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from fairlead.control.attempts import SCHEDULER
from fairlead.control.record import STREAM
from fairlead.core import codec
from fairlead.store.contract import Journal
from fairlead.store.tail import lines_backwards, newest_line

Json = dict[str, Any]


class NumberedRecord(NamedTuple):
    sequence: int
    record: Json


def attempts_of(journal: Journal, namespace: str, name: str) -> Iterator[NumberedRecord | None]:
    """Attempts to place pods of that name, the newest first. None: a stretch of the log is read, and others may have
    their turn."""
    wanted = b'"object":"pods/%s/%s"' % (namespace.encode(), name.encode())
    for window in lines_backwards(journal, STREAM, newest_line(journal, STREAM)):
        for sequence, _, note in window:
            if wanted in note.body:
                record = codec.decode(note.body)
                if record["controller"] == SCHEDULER and "batch" in record:
                    yield NumberedRecord(sequence, record)
        yield None


def batch_of(journal: Journal, attempt: NumberedRecord) -> Json | None:
    """The record of the batch that an attempt was part of; None if the log no longer has it."""
    number = attempt.record["batch"]
    wanted = b'"batch":%d' % number
    for _, _, note in chain.from_iterable(lines_backwards(journal, STREAM, attempt.sequence)):
        if wanted in note.body and b'"assumed":' in note.body:
            record: Json = codec.decode(note.body)
            if record["batch"] == number and "pods" in record:
                return record if record["time"] == attempt.record["time"] else None
    return None

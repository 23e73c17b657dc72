"""The bounded logs of the sqlite journal (`audit`, `decisions`): lines are appended with a batch, the oldest go.

Part of `sqlite.py`, which calls it inside a batch's transaction, on its writing connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from fairlead.store.contract import Note
from fairlead.store.digests import note_digest
from fairlead.store.rows import distinct_values, insert_rows
from fairlead.store.seal import Total

#: bound: store | lines of the audit log | the oldest go
NOTES_MAX = 100_000
_SLACK = 1_024  # a log is trimmed by this many lines at once


class Lines:
    def __init__(self, connection: apsw.Connection, lines_max: int) -> None:
        """`lines_max`: of each log."""
        self._connection = connection
        self._lines_max = lines_max
        self._newest: dict[str, int] = {}
        self._oldest: dict[str, int] = {}
        self.learn()

    def learn(self) -> None:
        """Which lines there are."""
        newest: dict[str, int] = {}
        oldest: dict[str, int] = {}
        for stream in distinct_values(self._connection, "stream", "notes"):
            rows: list[Any] = self._connection.execute(
                "SELECT (SELECT min(seq) FROM notes WHERE stream = ?1),"
                " (SELECT max(seq) FROM notes WHERE stream = ?1)",
                (stream,),
            ).fetchall()
            if type(rows[0][1]) is not int:  # it is named, and cannot be found: its pages are not in order
                raise apsw.CorruptError("the lines of a log cannot be found")
            oldest[stream], newest[stream] = rows[0]
        self._newest, self._oldest = newest, oldest

    def append(self, notes: Sequence[Note], now: float, total: Total) -> dict[str, int]:
        """Returns the newest line of each log, to be given to `committed` once the transaction is."""
        newest = dict(self._newest)
        rows, at = [], repr(now)
        for note in notes:
            sequence = newest[note.stream] = newest.get(note.stream, 0) + 1
            digest = note_digest(note.stream, sequence, at, note.revision, note.body)
            rows.append((note.stream, sequence, now, note.revision, note.body, digest))
        total.add_all([row[5] for row in rows])
        insert_rows(self._connection, "INSERT INTO notes VALUES", 6, rows)
        for stream, last in newest.items():
            first = self._oldest.setdefault(stream, 1)
            if last - first >= self._lines_max + _SLACK:
                self._trim(stream, last - self._lines_max + 1, total)
        return newest

    def committed(self, newest: dict[str, int]) -> None:
        self._newest = newest

    def _trim(self, stream: str, oldest: int, total: Total) -> None:
        trimmed: list[Any] = self._connection.execute(
            "DELETE FROM notes WHERE stream = ? AND seq < ? RETURNING digest", (stream, oldest)
        ).fetchall()
        for row in trimmed:
            if row[0] is not None:
                total.remove(row[0])
        self._oldest[stream] = oldest

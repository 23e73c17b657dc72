"""Reads the logs of a store's database beside its journal, on a connection of its own: for whoever follows them from
another thread, as the index of decisions does (`runtime/data/decision_index.py`). Each question is a short reading
transaction, so that the write-ahead log is kept from nothing. Lines are not compared with their digests here: who shows
one reads it through the journal.
"""

from __future__ import annotations

from typing import Any

import apsw

from fairlead.store.database_files import merge_on_close, pragma


class LogReader:
    """Called by one thread at a time. Raises apsw.Error."""

    def __init__(self, path: str) -> None:
        self._connection = apsw.Connection(path)
        self._connection.set_busy_timeout(10_000)
        pragma(self._connection, "query_only = ON")
        merge_on_close(self._connection, False)

    def bodies(self, stream: str, after: int, limit: int) -> list[tuple[int, bytes, bytes]]:
        """Sequence, body and link of lines, oldest first."""
        rows: list[Any] = self._connection.execute(
            "SELECT seq, body, link FROM notes WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?",
            (stream, after, limit),
        ).fetchall()
        return [(seq, bytes(body), bytes(link or b"")) for seq, body, link in rows]

    def link_of(self, stream: str, sequence: int) -> bytes | None:
        """None: there is no such line."""
        rows: list[Any] = self._connection.execute(
            "SELECT link FROM notes WHERE stream = ? AND seq = ?", (stream, sequence)
        ).fetchall()
        return bytes(rows[0][0] or b"") if rows else None

    def oldest(self, stream: str) -> int:
        """The sequence of the oldest line; 0 if there is none."""
        rows: list[Any] = self._connection.execute(
            "SELECT min(seq) FROM notes WHERE stream = ?", (stream,)
        ).fetchall()
        return int(rows[0][0] or 0)

    def close(self) -> None:
        self._connection.close()

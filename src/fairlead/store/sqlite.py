"""The sqlite journal: batches become durable in one transaction each (WAL, synchronous FULL).

Blocking and threadless. The runtime calls `append`, `compact` and `recover` on its writer thread;
the JournalReader methods run on the event loop's thread, on a connection of their own. A batch costs a
handful of statements whatever its size: rows go in by multi-row INSERTs, because each statement gives the
interpreter lock away and must win it back (one by one they were ten times slower beside a busy loop).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import apsw

from fairlead.core.errors import DataDirectoryError
from fairlead.store.contract import (
    ADDED,
    DELETED,
    MODIFIED,
    Batch,
    Change,
    Entry,
    Key,
    Note,
    Recovered,
    Retention,
)
from fairlead.store.files import (
    TOMBSTONE,
    TYPE_CODES,
    create_schema,
    damage_explained,
    integrity_problems,
    journal_error,
    merge_on_close,
    pragma,
    read_all,
    recognise,
)
from fairlead.store.retention import Kept, moved_floor, retention_of

NOTES_MAX = 100_000
_NOTES_SLACK = 1_024  # a log is trimmed by this many lines at once
_ROWS_MAX = 128  # rows in one INSERT
CHECKPOINT_PAGES = 1_000  # small: a checkpoint stalls the writer, and with it everyone who waits
_WAL_BYTES_KEPT = 32 * 1024 * 1024

_TYPES = (ADDED, MODIFIED, DELETED)
_COLUMNS = "resource, namespace, name, uid, revision, data, previous"
_CHANGES = """
SELECT l.type, l.resource, l.namespace, l.name, l.uid, l.revision, l.data, l.previous,
  b.uid, b.data, b.previous
FROM log l LEFT JOIN log b ON b.revision = l.previous
WHERE {} l.revision > ? ORDER BY l.revision LIMIT ?
"""
_CHANGES_OF_ALL = _CHANGES.format("")
_CHANGES_OF_ONE = _CHANGES.format("l.resource = ? AND")


class SqliteJournal:
    """Implements `Journal` on one database file."""

    def __init__(
        self,
        path: str,
        *,
        synchronous: str = "FULL",
        vfs: str | None = None,
        shared_memory: bool = True,
        checkpoint_pages: int = CHECKPOINT_PAGES,
        notes_max: int = NOTES_MAX,
    ) -> None:
        """Open or create. `synchronous` and `vfs` exist to prove durability. Without `shared_memory` (file
        systems that lack it) one connection does everything and the journal must be used from one thread."""
        self.path = path
        self._notes_max = notes_max
        self._kept_bytes: dict[str, int] = {}  # per resource, above its floor; filled on first use
        with damage_explained(path):
            self._writer = self._open(path, vfs, synchronous, shared_memory, checkpoint_pages)
            self._reader = self._writer
            if shared_memory:
                self._reader = apsw.Connection(path, vfs=vfs)
                self._reader.set_busy_timeout(10_000)
                pragma(self._reader, "query_only = ON")
                merge_on_close(self._reader, False)
            self._notes_newest, self._notes_oldest = self._notes_bounds()

    @staticmethod
    def _open(
        path: str, vfs: str | None, synchronous: str, shared_memory: bool, checkpoint_pages: int
    ) -> apsw.Connection:
        connection = apsw.Connection(path, vfs=vfs)
        try:
            connection.set_busy_timeout(10_000)
            if not shared_memory:
                pragma(connection, "locking_mode = EXCLUSIVE")
            ours = recognise(connection, path)
            if ours:
                merge_on_close(connection, False)  # until `recover` has found all of it sound
            if pragma(connection, "journal_mode = WAL") != "wal":
                raise DataDirectoryError(f"{path} cannot use write-ahead logging; put it on a local disk")
            pragma(connection, f"synchronous = {synchronous}")
            pragma(connection, f"wal_autocheckpoint = {checkpoint_pages}")
            pragma(connection, f"journal_size_limit = {_WAL_BYTES_KEPT}")
            if not ours:
                create_schema(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Doing it twice is doing it once."""
        if self._reader is not self._writer:
            self._reader.close()
        self._writer.close()

    # Journal: what the writer thread calls

    def recover(self) -> Recovered:
        with damage_explained(self.path):
            self._give_up()
            self._notes_newest, self._notes_oldest = self._notes_bounds()
            recovered = read_all(self._writer, self.path)
            merge_on_close(self._writer, True)
            return recovered

    def append(self, batch: Batch) -> None:
        connection = self._writer
        try:
            connection.execute("BEGIN IMMEDIATE")
            if batch.changes:
                self._append_changes(batch.changes, batch.now)
            notes_newest = self._append_notes(batch.notes, batch.now) if batch.notes else self._notes_newest
            connection.execute("COMMIT")
            self._notes_newest = notes_newest
        except apsw.Error as error:
            self._kept_bytes.clear()
            self._give_up()
            raise journal_error(error) from error

    def compact(self, now: float, retention: dict[str, Retention], budget: int) -> dict[str, int]:
        connection = self._writer
        try:
            connection.execute("BEGIN IMMEDIATE")
            marks = {
                resource: (floor, swept)
                for resource, floor, swept in connection.execute("SELECT resource, floor, swept FROM floors")
            }
            before, left = dict(marks), budget
            for resource, (floor, swept) in marks.items():
                if swept < floor and left > 0:
                    swept, walked = self._sweep(resource, swept, floor, left)
                    marks[resource] = (floor, swept)
                    left -= walked
            for resource in self._resources():
                floor, swept = marks.get(resource, (0, 0))
                marks[resource] = (
                    self._move_floor(resource, floor, now, retention_of(resource, retention), budget),
                    swept,
                )
            # Only what moved: a plane at rest must not write to its disk every few seconds.
            rows = [(each, *mark) for each, mark in marks.items() if before.get(each) != mark]
            self._insert("INSERT OR REPLACE INTO floors VALUES", 3, rows)
            connection.execute("COMMIT")
        except apsw.Error as error:
            self._kept_bytes.clear()
            self._give_up()
            raise journal_error(error) from error
        return {resource: floor for resource, (floor, _) in marks.items()}

    def notes(self, stream: str, after: int, limit: int) -> list[tuple[int, float, Note]]:
        rows = self._read(
            "SELECT seq, at, body, revision FROM notes WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?",
            (stream, after, limit),
        )
        return [(sequence, at, Note(stream, body, revision)) for sequence, at, body, revision in rows]

    # JournalReader: what the event loop's thread calls

    def versions(self, revisions: Iterable[int]) -> dict[int, Entry]:
        wanted = array("q", revisions)
        if not wanted:
            return {}
        rows = self._read(
            f"SELECT {_COLUMNS} FROM log WHERE revision IN (SELECT value FROM carray(?))",
            (apsw.carray(wanted),),
        )
        return {
            revision: Entry(Key(resource, namespace, name), uid, revision, data, previous)
            for resource, namespace, name, uid, revision, data, previous in rows
        }

    def changes_after(self, revision: int, resource: str, limit: int) -> Sequence[Change]:
        if resource:
            rows = self._read(_CHANGES_OF_ONE, (resource, revision, limit))
        else:
            rows = self._read(_CHANGES_OF_ALL, (revision, limit))
        changes = []
        for (
            code,
            of,
            namespace,
            name,
            uid,
            at,
            data,
            previous,
            uid_before,
            data_before,
            previous_before,
        ) in rows:
            key = Key(of, namespace, name)
            before = None
            if data_before is not None:
                before = Entry(key, uid_before, previous, data_before, previous_before)
            changes.append(Change(_TYPES[code], Entry(key, uid, at, data, previous), before))
        return changes

    def first_changes_after(self, revision: int, resource: str) -> dict[Key, int]:
        # With min() the other columns come from the row that has the minimum.
        rows = self._read(
            "SELECT namespace, name, previous, min(revision) FROM log"
            " WHERE resource = ? AND revision > ? GROUP BY namespace, name",
            (resource, revision),
        )
        return {Key(resource, namespace, name): previous for namespace, name, previous, _ in rows}

    def first_change_after(self, revision: int, key: Key) -> int | None:
        rows = self._read(
            "SELECT previous FROM log WHERE resource = ? AND revision > ? AND namespace = ? AND name = ?"
            " ORDER BY revision LIMIT 1",
            (key.resource, revision, key.namespace, key.name),
        )
        return int(rows[0][0]) if rows else None

    # For operators

    def integrity_problems(self) -> list[str]:
        """SQLite's full check; empty when all is well. Reads every page: not for the start."""
        return integrity_problems(self._reader)

    # Inside

    def _read(self, statement: str, bindings: tuple[object, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._reader.execute(statement, bindings).fetchall()
        except apsw.Error as error:
            raise journal_error(error) from error

    def _give_up(self) -> None:
        """End a transaction that failed halfway; SQLite may have ended it already."""
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def _insert(self, into: str, columns: int, rows: Sequence[tuple[object, ...]]) -> None:
        marks = f"({','.join('?' * columns)})"
        for start in range(0, len(rows), _ROWS_MAX):
            some = rows[start : start + _ROWS_MAX]
            statement = f"{into} {','.join([marks] * len(some))}"
            self._writer.execute(statement, list(chain.from_iterable(some)))

    def _append_changes(self, changes: Sequence[Change], now: float) -> None:
        rows = []
        current: dict[Key, int] = {}
        kept = self._kept_bytes
        for change in changes:
            entry = change.entry
            key, data = entry.key, entry.data
            code = TYPE_CODES[change.type]
            size = len(data)
            rows.append((entry.revision, *key, entry.uid, code, entry.previous, now, size, data))
            current[key] = 0 if code == TOMBSTONE else entry.revision
            if key.resource in kept:
                kept[key.resource] += size
        self._insert("INSERT INTO log VALUES", 10, rows)
        live = [(*key, revision) for key, revision in current.items() if revision]
        if live:
            self._insert("INSERT OR REPLACE INTO objects VALUES", 4, live)
        if len(live) < len(current):
            gone = [key for key, revision in current.items() if not revision]
            self._writer.executemany(
                "DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?", gone
            )

    def _append_notes(self, notes: Sequence[Note], now: float) -> dict[str, int]:
        """Returns the newest line of each log, true once this is committed."""
        newest = dict(self._notes_newest)
        rows = []
        for note in notes:
            sequence = newest[note.stream] = newest.get(note.stream, 0) + 1
            rows.append((note.stream, sequence, now, note.revision, note.body))
        self._insert("INSERT INTO notes VALUES", 5, rows)
        for stream, last in newest.items():
            first = self._notes_oldest.setdefault(stream, 1)
            if last - first >= self._notes_max + _NOTES_SLACK:
                oldest = last - self._notes_max + 1
                self._writer.execute("DELETE FROM notes WHERE stream = ? AND seq < ?", (stream, oldest))
                self._notes_oldest[stream] = oldest
        return newest

    def _notes_bounds(self) -> tuple[dict[str, int], dict[str, int]]:
        newest: dict[str, int] = {}
        oldest: dict[str, int] = {}
        for stream in self._distinct("stream", "notes"):
            rows: list[Any] = self._writer.execute(
                "SELECT (SELECT min(seq) FROM notes WHERE stream = ?1),"
                " (SELECT max(seq) FROM notes WHERE stream = ?1)",
                (stream,),
            ).fetchall()
            oldest[stream], newest[stream] = rows[0]
        return newest, oldest

    def _resources(self) -> list[str]:
        return list(self._distinct("resource", "log"))

    def _distinct(self, column: str, table: str) -> Iterator[str]:
        """The values of an index's first column, by one seek each."""
        statement = f"SELECT min({column}) FROM {table} WHERE {column} > ?"
        value = self._writer.execute(statement, ("",)).fetchall()[0][0]
        while value is not None:
            yield str(value)
            value = self._writer.execute(statement, (value,)).fetchall()[0][0]

    def _sweep(self, resource: str, swept: int, floor: int, budget: int) -> tuple[int, int]:
        """Walk changes up to the floor, deleting what each one superseded and tombstones themselves.
        Returns how far it came and how many rows it walked."""
        rows: list[Any] = self._writer.execute(
            "SELECT revision, previous, type FROM log WHERE resource = ? AND revision > ? AND revision <= ?"
            " ORDER BY revision LIMIT ?",
            (resource, swept, floor, budget),
        ).fetchall()
        gone = array("q")
        for revision, previous, code in rows:
            if previous:
                gone.append(previous)
            if code == TOMBSTONE:
                gone.append(revision)
        if gone:
            self._writer.execute(
                "DELETE FROM log WHERE revision IN (SELECT value FROM carray(?))", (apsw.carray(gone),)
            )
        return (rows[-1][0] if len(rows) == budget else floor), len(rows)

    def _move_floor(self, resource: str, floor: int, now: float, retention: Retention, budget: int) -> int:
        kept = self._kept_bytes.get(resource)
        if kept is None:
            sums: list[Any] = self._writer.execute(
                "SELECT coalesce(sum(size), 0) FROM log WHERE resource = ? AND revision > ?",
                (resource, floor),
            ).fetchall()
            kept = int(sums[0][0])
        rows: list[Any] = self._writer.execute(
            "SELECT revision, at, size FROM log WHERE resource = ? AND revision > ?"
            " ORDER BY revision LIMIT ?",
            (resource, floor, budget),
        ).fetchall()
        moved, self._kept_bytes[resource] = moved_floor(floor, kept, map(Kept._make, rows), now, retention)
        return moved

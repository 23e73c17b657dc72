"""The sqlite journal: batches become durable in one transaction each (WAL, synchronous FULL).

Each row is written with its digest, and compared with it when it is read (`digests.py`, `recovery.py`, `seal.py`).
Blocking and threadless. The runtime calls `append`, `compact` and `recover` on its writer thread;
the JournalReader methods run on the event loop's thread, on a connection of their own. A batch costs a
handful of statements whatever its size: rows go in by multi-row INSERTs, because each statement gives the
interpreter lock away and must win it back (one by one they were ten times slower beside a busy loop).
"""

from __future__ import annotations

import contextlib
import copy
import errno
import itertools
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import apsw
import msgspec

from fairlead.core.errors import DataDirectoryError
from fairlead.store import schema
from fairlead.store.contract import (
    Batch,
    Change,
    Entry,
    JournalError,
    Key,
    Lost,
    Note,
    Recovered,
    Retention,
)
from fairlead.store.digests import floor_digest, note_digest, pointer_digest, version_digest
from fairlead.store.files import (
    damage_explained,
    integrity_problems,
    journal_error,
    merge_on_close,
    pragma,
    recognise,
)
from fairlead.store.mending import note_damaged, note_lost, write_anew
from fairlead.store.past import Past
from fairlead.store.recovery import read_all, version_of
from fairlead.store.retention import Kept, moved_floor, retention_of
from fairlead.store.schema import TOMBSTONE, TYPE_CODES
from fairlead.store.seal import read_seal
from fairlead.store.witness import NoWitness, Witness

NOTES_MAX = 100_000
_NOTES_SLACK = 1_024  # a log is trimmed by this many lines at once
_ROWS_MAX = 128  # rows in one INSERT
CHECKPOINT_PAGES = 1_000  # small: a checkpoint stalls the writer, and with it everyone who waits
_SHORT_CHECKPOINT_PAGES = 250
_WAL_BYTES_KEPT = 32 * 1024 * 1024
UNMARKED_REVISIONS = 1_000_000  # are left out when some were lost and no mark says how many
UPGRADED_AT_ONCE = 256  # objects of an older format that get their digest in one transaction

_UNDIGESTED = (
    "SELECT o.revision, l.uid, l.type, l.previous, l.at, l.size, l.data FROM objects o JOIN log l USING (revision)"
    " WHERE o.resource = ? AND o.namespace = ? AND o.name = ? AND o.digest IS NULL AND l.digest IS NULL"
)


class SqliteJournal(Past):
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
        witness: Witness | None = None,
        opened_at: float = 0.0,
    ) -> None:
        """Open or create. `synchronous` and `vfs` exist to prove durability. Without `shared_memory` (file
        systems that lack it) one connection does everything and the journal must be used from one thread.
        `opened_at`: since when damage that is found is known."""
        self.path = path
        self._notes_max = notes_max
        self._witness: Witness = witness or NoWitness()
        self._opened_at = opened_at
        self._kept_bytes: dict[str, int] = {}  # per resource, above its floor; filled on first use
        self._undigested: set[Key] = set()
        self._damaged: dict[Key, int] = {}  # objects that are, and the revision of the row
        self._recovered = False
        with damage_explained(path):
            self._writer = reader = self._open(path, vfs, synchronous, shared_memory, checkpoint_pages)
            if shared_memory:
                reader = apsw.Connection(path, vfs=vfs)
                reader.set_busy_timeout(10_000)
                pragma(reader, "query_only = ON")
                merge_on_close(reader, False)
            super().__init__(reader)
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
            version = recognise(connection, path)
            if version:
                merge_on_close(connection, False)  # until `recover` has found all of it sound
            if pragma(connection, "journal_mode = WAL") != "wal":
                raise DataDirectoryError(f"{path} cannot use write-ahead logging; put it on a local disk")
            pragma(connection, f"synchronous = {synchronous}")
            pragma(connection, f"wal_autocheckpoint = {checkpoint_pages}")
            pragma(connection, f"journal_size_limit = {_WAL_BYTES_KEPT}")
            if not version:
                schema.create(connection)
            elif version < schema.FORMAT:
                schema.upgrade(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Doing it twice is doing it once."""
        if self._reader is not self._writer:
            self._reader.close()
        self._writer.close()
        if self._recovered:
            self._witness.close(self._seal.revision)
            self._recovered = False

    # Journal: what the writer thread calls

    def recover(self) -> Recovered:
        with damage_explained(self.path):
            self._give_up()
            self._notes_newest, self._notes_oldest = self._notes_bounds()
            reading = read_all(self._writer, schema.FORMAT)
            self._seal, self._undigested = reading.seal, reading.undigested
            recovered = reading.recovered
            if reading.mended:
                write_anew(self._writer, self.path, recovered.entries, self._seal, reading.unsealed)
                self._undigested = set()
            recovered = self._with_lost(recovered)
            self._damaged = {each.entry.key: each.entry.revision for each in recovered.damaged}
            if recovered.damaged:
                recovered = note_damaged(self._writer, recovered, self._opened_at)
            merge_on_close(self._writer, True)
            self._recovered = True
            return recovered

    def _with_lost(self, recovered: Recovered) -> Recovered:
        """When the witness doubts that this is all there was, numbering goes on above all that it promised."""
        doubt = self._witness.doubt(recovered.revision)
        if not doubt:
            return recovered
        promised = self._witness.promised or recovered.revision + UNMARKED_REVISIONS
        until = max(promised, recovered.revision) + 1
        self._seal.revision = until
        lost = Lost(recovered.revision, until, doubt, self._opened_at)
        note_lost(self._writer, lost, self._seal)
        self._witness.settle(until)
        return msgspec.structs.replace(recovered, revision=until, lost=(*recovered.lost, lost))

    def append(self, batch: Batch) -> None:
        connection = self._writer
        if batch.changes:
            self._promise(batch.changes[-1].entry.revision)
        try:
            connection.execute("BEGIN IMMEDIATE")
            if batch.changes:
                self._append_changes(batch.changes, batch.now)
            notes_newest = self._append_notes(batch.notes, batch.now) if batch.notes else self._notes_newest
            self._seal.write(connection)
            connection.execute("COMMIT")
            self._notes_newest = notes_newest
        except apsw.Error as error:
            self._forget()
            raise journal_error(error) from error

    def _promise(self, revision: int) -> None:
        if revision > self._witness.promised:
            try:
                self._witness.reach(revision)
            except OSError as error:
                full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                raise JournalError(
                    "StorageFull" if full else "StorageFailed", f"the mark: {error}"
                ) from error

    def compact(self, now: float, retention: dict[str, Retention], budget: int) -> dict[str, int]:
        connection = self._writer
        try:
            connection.execute("BEGIN IMMEDIATE")
            sealed = copy.deepcopy(self._seal)
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
            rows = [
                (each, *mark, floor_digest(each, *mark))
                for each, mark in marks.items()
                if before.get(each) != mark
            ]
            self._insert("INSERT OR REPLACE INTO floors VALUES", 4, rows)
            floors = self._seal.floors
            floors.add_all([row[3] for row in rows])
            for row in rows:
                if row[0] in before:
                    floors.remove(floor_digest(row[0], *before[row[0]]))
            self._digest_some()
            if rows or self._seal != sealed:
                self._seal.write(connection)
            connection.execute("COMMIT")
        except apsw.Error as error:
            self._forget()
            raise journal_error(error) from error
        return {resource: floor for resource, (floor, _) in marks.items()}

    # For operators

    def take_room(self, size: int) -> None:
        """Let the database own what is free on its disk: what the log holds is moved into it, and then `size` bytes
        of pages that nothing uses, which later writes take before the file would have to grow. Called on the writer
        thread, once the disk is full; from then on the log is kept short, so that it needs no room either."""
        try:
            self._merge_log()
            self._writer.execute("DROP TABLE IF EXISTS room; CREATE TABLE room (body BLOB)")
            self._writer.execute("INSERT INTO room VALUES (zeroblob(?))", (size,))
            self._merge_log()
            self._writer.execute("DROP TABLE room")
            self._merge_log()
        except apsw.Error as error:
            self._give_up()
            raise journal_error(error) from error
        finally:
            self._writer.wal_autocheckpoint(_SHORT_CHECKPOINT_PAGES)

    def _merge_log(self) -> None:
        self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)

    def free_bytes(self) -> int:
        """What can be written without the file growing. Called on the writer thread."""
        try:
            pages, size = pragma(self._writer, "freelist_count"), pragma(self._writer, "page_size")
        except apsw.Error as error:
            raise journal_error(error) from error
        return pages * size if isinstance(pages, int) and isinstance(size, int) else 0

    def integrity_problems(self) -> list[str]:
        """SQLite's full check; empty when all is well. Reads every page: not for the start."""
        return integrity_problems(self._reader)

    # Inside

    def _forget(self) -> None:
        """A transaction failed: what was counted for it is not so."""
        self._kept_bytes.clear()
        self._give_up()
        with contextlib.suppress(apsw.Error):
            self._seal = read_seal(self._writer) or self._seal

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
        replaced: dict[Key, int] = {}  # what the pointers were before this batch
        kept, seal = self._kept_bytes, self._seal
        for change in changes:
            entry = change.entry
            key, data, revision, previous = entry.key, entry.data, entry.revision, entry.previous
            code = TYPE_CODES[change.type]
            size = len(data)
            digest = version_digest(revision, key, entry.uid, code, previous, now, data)
            rows.append((revision, *key, entry.uid, code, previous, now, size, data, digest))
            seal.log.add(digest)
            replaced.setdefault(key, previous)
            current[key] = 0 if code == TOMBSTONE else revision
            if key.resource in kept:
                kept[key.resource] += size
        seal.revision = changes[-1].entry.revision
        self._insert("INSERT INTO log VALUES", 11, rows)
        self._point(current, replaced)

    def _point(self, current: dict[Key, int], replaced: dict[Key, int]) -> None:
        total = self._seal.objects
        for key, revision in replaced.items():
            if key in self._undigested:
                self._undigested.discard(key)
            elif revision:
                total.remove(pointer_digest(key, revision))
        live = [
            (*key, revision, pointer_digest(key, revision)) for key, revision in current.items() if revision
        ]
        if live:
            total.add_all([row[4] for row in live])
            self._insert("INSERT OR REPLACE INTO objects VALUES", 5, live)
        if len(live) < len(current):
            gone = [key for key, revision in current.items() if not revision]
            self._writer.executemany(
                "DELETE FROM objects WHERE resource = ? AND namespace = ? AND name = ?", gone
            )
        if self._damaged:
            resolved = [key for key in current if self._damaged.pop(key, None) is not None]
            self._writer.executemany(
                "UPDATE damaged SET resolved = 1 WHERE resource = ? AND namespace = ? AND name = ?", resolved
            )

    def _append_notes(self, notes: Sequence[Note], now: float) -> dict[str, int]:
        """Returns the newest line of each log, true once this is committed."""
        newest = dict(self._notes_newest)
        rows = []
        for note in notes:
            sequence = newest[note.stream] = newest.get(note.stream, 0) + 1
            digest = note_digest(note.stream, sequence, now, note.revision, note.body)
            rows.append((note.stream, sequence, now, note.revision, note.body, digest))
            self._seal.notes.add(digest)
        self._insert("INSERT INTO notes VALUES", 6, rows)
        for stream, last in newest.items():
            first = self._notes_oldest.setdefault(stream, 1)
            if last - first >= self._notes_max + _NOTES_SLACK:
                oldest = last - self._notes_max + 1
                trimmed: list[Any] = self._writer.execute(
                    "DELETE FROM notes WHERE stream = ? AND seq < ? RETURNING digest", (stream, oldest)
                ).fetchall()
                for row in trimmed:
                    if row[0] is not None:
                        self._seal.notes.remove(row[0])
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
            self._delete(gone)
        return (rows[-1][0] if len(rows) == budget else floor), len(rows)

    def _delete(self, gone: array[int]) -> None:
        """Versions that nobody can ask for any more, but for damaged ones: freeing the pages that such a row claims
        could give away another's."""
        rows: list[Any] = self._writer.execute(
            "SELECT revision, resource, namespace, name, uid, type, previous, at, size, data, digest FROM log"
            " WHERE revision IN (SELECT value FROM carray(?))",
            (apsw.carray(gone),),
        ).fetchall()
        sound = array("q")
        for revision, resource, namespace, name, *version in rows:
            key = Key(resource, namespace, name)
            if isinstance(version_of(tuple(version), key, revision, self._seal.since), Entry):
                sound.append(revision)
                if version[-1] is not None:
                    self._seal.log.remove(version[-1])
        if sound:
            self._writer.execute(
                "DELETE FROM log WHERE revision IN (SELECT value FROM carray(?))", (apsw.carray(sound),)
            )

    def _digest_some(self) -> None:
        """Give a few objects that are older than digests theirs. What is not sound stays as it is."""
        for key in list(itertools.islice(self._undigested, UPGRADED_AT_ONCE)):
            self._undigested.discard(key)
            rows: list[Any] = self._writer.execute(_UNDIGESTED, key).fetchall()
            for revision, *version in rows:
                entry = version_of((*version, None), key, revision, self._seal.since)
                if key in self._damaged or not isinstance(entry, Entry):
                    continue
                uid, code, previous, at, _, data = version
                digest, pointer = (
                    version_digest(revision, key, uid, code, previous, at, data),
                    pointer_digest(key, revision),
                )
                self._seal.log.add(digest)
                self._seal.objects.add(pointer)
                self._writer.execute("UPDATE log SET digest = ? WHERE revision = ?", (digest, revision))
                self._writer.execute(
                    "UPDATE objects SET digest = ? WHERE resource = ? AND namespace = ? AND name = ?",
                    (pointer, *key),
                )

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

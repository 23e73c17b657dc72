"""The sqlite journal: batches become durable in one transaction each (WAL, synchronous FULL).

Each row is written with its digest, and compared with it when it is read (`digests.py`, `recovery.py`, `seal.py`).
`bounded_logs.py` has the logs beside the objects, `compaction.py` forgets history.
Blocking and threadless. The runtime calls `append`, `compact` and `recover` on its writer thread;
the JournalReader methods run on the event loop's thread, on a connection of their own. A batch costs a
handful of statements whatever its size: rows go in by multi-row INSERTs, because each statement gives the
interpreter lock away and must win it back (one by one they were ten times slower beside a busy loop).
"""

from __future__ import annotations

import contextlib
import copy
import errno
from collections.abc import Mapping, Sequence

import apsw
import msgspec

from fairlead.core.errors import DataDirectoryError
from fairlead.model.key import Key
from fairlead.store import schema
from fairlead.store.bounded_logs import NOTES_MAX, Lines
from fairlead.store.compaction import Compaction
from fairlead.store.contract import Batch, CommittedChange, JournalError, Lost, Recovered, Retention
from fairlead.store.database_files import (
    damage_explained,
    journal_error,
    merge_on_close,
    pragma,
    recognise,
)
from fairlead.store.digests import pointer_digest, version_digest
from fairlead.store.late_digests import digest_some
from fairlead.store.mending import note_damaged, note_lost, write_anew
from fairlead.store.past import Past
from fairlead.store.recovery import read_all
from fairlead.store.retention import LogBound, LogSize
from fairlead.store.rows import insert_rows
from fairlead.store.schema import TOMBSTONE, TYPE_CODES
from fairlead.store.seal import read_seal
from fairlead.store.witness import NoWitness, Witness

# Of a new database. On pages of 4 KiB a pod has a page for itself, and a record of a decision begins a second one:
# that was a third of the writer's time. Larger ones write more for a single change.
_PAGE_BYTES = 8192
#: bound: store | pages in the write-ahead log | they are moved to the database
CHECKPOINT_PAGES = 500  # small: a checkpoint stalls the writer, and with it everyone who waits
_SHORT_CHECKPOINT_PAGES = 125
_WAL_BYTES_KEPT = 32 * 1024 * 1024
UNMARKED_REVISIONS = 1_000_000  # are left out when some were lost and no mark says how many


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
        logs: Mapping[str, LogBound] | None = None,
        witness: Witness | None = None,
        opened_at: float = 0.0,
    ) -> None:
        """Open or create. `synchronous` and `vfs` exist to prove durability. Without `shared_memory` (file
        systems that lack it) one connection does everything and the journal must be used from one thread.
        `logs`: what each log keeps, `notes_max`: lines of all others. `opened_at`: since when damage that is found is
        known."""
        self.path = path
        self._witness: Witness = witness or NoWitness()
        self._opened_at = opened_at
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
            self._lines = Lines(self._writer, {"": LogBound(lines_max=notes_max), **(logs or {})})
            self._compaction = Compaction(self._writer)

    @staticmethod
    def _open(
        path: str, vfs: str | None, synchronous: str, shared_memory: bool, checkpoint_pages: int
    ) -> apsw.Connection:
        connection = apsw.Connection(path, vfs=vfs)
        try:
            connection.set_busy_timeout(10_000)
            if not shared_memory:
                pragma(connection, "locking_mode = EXCLUSIVE")
            merge_on_close(connection, False)  # until `recover` has found all of it sound
            version = recognise(connection, path)
            if not version:
                merge_on_close(connection, True)
                pragma(connection, f"page_size = {_PAGE_BYTES}")
            if pragma(connection, "journal_mode = WAL") != "wal":
                raise DataDirectoryError(f"{path} cannot use write-ahead logging; put it on a local disk")
            pragma(connection, f"synchronous = {synchronous}")
            pragma(connection, f"wal_autocheckpoint = {checkpoint_pages}")
            pragma(connection, f"journal_size_limit = {_WAL_BYTES_KEPT}")
            if not version:
                schema.create(connection)
            elif version < schema.FORMAT:
                schema.upgrade(connection, version)
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
            self._lines.learn()
            reading = read_all(self._writer, schema.FORMAT)
            self._seal, self._undigested = reading.seal, reading.undigested
            recovered = reading.recovered
            if reading.mended:
                write_anew(self._writer, self.path, recovered.entries, self._seal, reading.unsealed)
                self._undigested = set()
            recovered = self._with_lost(recovered)
            self._lost = recovered.lost
            self._damaged = {each.entry.key: each.entry.revision for each in recovered.damaged}
            if recovered.damaged:
                recovered = note_damaged(self._writer, recovered, self._opened_at)
            merge_on_close(self._writer, True)
            self._recovered = True
            return recovered

    def _with_lost(self, recovered: Recovered) -> Recovered:
        """When the witness doubts that this is all there was, numbering goes on above all that it promised, or
        knows to be acknowledged: of a disk that forgets what it synced, either may be the older one."""
        doubt = self._witness.doubt(recovered.revision)
        if not doubt:
            return recovered
        promised = self._witness.promised or recovered.revision + UNMARKED_REVISIONS
        until = max(promised, recovered.revision, self._witness.acknowledged) + 1
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
            chains = self._lines.append(batch.notes, batch.now, self._seal.notes) if batch.notes else None
            self._seal.write(connection)
            connection.execute("COMMIT")
            if chains is not None:
                self._lines.committed(chains)
            if batch.changes:
                self._witness.acknowledge(self._seal.revision)
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
            floors = self._compaction.compact(self._seal, now, retention, budget)
            digest_some(connection, self._seal, self._undigested, self._damaged)
            chains = self._lines.tend(now, budget, self._seal.notes)
            if self._seal != sealed:
                self._seal.write(connection)
            connection.execute("COMMIT")
            self._lines.committed(chains)
        except apsw.Error as error:
            self._forget()
            raise journal_error(error) from error
        return floors

    def keep(self, stream: str, bound: LogBound) -> None:
        """From now on a log keeps so much; what is too much goes in small steps. Called from any thread."""
        self._lines.bounds[stream] = bound

    def log_size(self, stream: str) -> LogSize:
        """How much a log holds. Called from any thread."""
        return self._lines.size(stream)

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

    # Inside

    def _forget(self) -> None:
        """A transaction failed: what was counted for it is not so."""
        self._compaction.forget()
        self._lines.forget()
        self._give_up()
        with contextlib.suppress(apsw.Error):
            self._seal = read_seal(self._writer) or self._seal

    def _give_up(self) -> None:
        """End a transaction that failed halfway; SQLite may have ended it already."""
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def _append_changes(self, changes: Sequence[CommittedChange], now: float) -> None:
        rows, at = [], repr(now)
        current: dict[Key, int] = {}
        replaced: dict[Key, int] = {}  # what the pointers were before this batch
        seal = self._seal
        for change in changes:
            entry = change.entry
            key, data, revision, previous = entry.key, entry.data, entry.revision, entry.previous
            code = TYPE_CODES[change.type]
            size = len(data)
            digest = version_digest(revision, key, entry.uid, code, previous, at, data)
            rows.append((revision, *key, entry.uid, code, previous, now, size, data, digest))
            replaced.setdefault(key, previous)
            current[key] = 0 if code == TOMBSTONE else revision
            self._compaction.appended(key.resource, size)
        seal.revision = changes[-1].entry.revision
        seal.log.add_all([row[10] for row in rows])
        insert_rows(self._writer, "INSERT OR ROLLBACK INTO log VALUES", 11, rows)
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
            insert_rows(self._writer, "INSERT OR REPLACE INTO objects VALUES", 5, live)
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

"""The index of decisions, turns and audit lines by the objects that they touch, beside the store: `decisions.index`.

Derived: a thread of its own reads the logs from the database, so that no writer does anything for it. Missing, damaged
or of another store, it is made anew; nothing is lost with it, and no backup has it. Where the file cannot be written it
is made in memory. Asked, it first takes in what the logs have by then. It keeps digests of keys, 8 bytes each: a line
may be named for another's key once in a very long time (`explain/index.py` says who looks).

Keys come in no order, and a tree of all of them would have a page written for nearly each one. So lines are indexed in
stretches of their numbers, one after the other: what is taken in touches the pages of the newest stretch, which are
few, who asks looks through stretches from the newest back, and what the log no longer has goes by whole stretches.

Made by `runtime/server/serving.py`, started and closed with the server.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import Any

import apsw

from fairlead.api.audit.recording import STREAM as AUDIT
from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.core.errors import Unavailable
from fairlead.explain.index import MemoryIndex, touched_by
from fairlead.store.contract import Journal
from fairlead.store.database_files import pragma
from fairlead.store.log_reader import LogReader
from fairlead.store.rows import insert_rows
from fairlead.store.sqlite import SqliteJournal

log = logging.getLogger("fairlead.runtime")

FILE = "decisions.index"
_FORMAT = 4  # one more whenever `touched_by` finds a line by other keys than before
STREAMS = (DECISIONS, TURNS, AUDIT)
#: bound: plane | lines that the index of decisions takes in at once | the next ones in the next step
STEP_LINES = 1_000
#: bound: plane | the index of decisions looks for new lines every | it also does when it is asked
FOLLOW_SECONDS = 1.0
#: bound: plane | lines that are gone and still in the index of decisions | they are swept out, a part at a time
GONE_MAX = 100_000
STRETCH = 1 << 15  # lines of a log that are indexed together
_IN_MEMORY = ":memory:"
_CACHE_KIB = (
    16 * 1024
)  # keys come in no order: pages that stay in memory are written once instead of many times
_signed = Struct(">q").unpack
_FAILED_MAX = 2  # after as many failures in use it is kept in memory


def index_beside(journal: Journal) -> DecisionIndexFile | MemoryIndex:
    """That of a store on a disk is a file beside it; any other is read as it is."""
    if not isinstance(journal, SqliteJournal):
        return MemoryIndex(journal)
    return DecisionIndexFile(Path(journal.path).with_name(FILE), LogReader(journal.path))


def digest_of(key: str) -> int:
    digest: int = _signed(blake2b(key.encode(), digest_size=8).digest())[0]
    return digest


class DecisionIndexFile:
    """Implements `DecisionIndex`."""

    def __init__(self, path: Path, lines: LogReader) -> None:
        self._path = path
        self._lines = lines
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._after = dict.fromkeys(STREAMS, 0)
        self._forgotten = dict.fromkeys(STREAMS, 0)  # lines up to here are gone from the index too
        self._failed = 0
        self._file = self._opened()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._follow, name="decision-index", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Before the journal is: it merges its log when it is the last to leave. Doing it twice is doing it once."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        with self._lock:
            self._file.close()
            self._lines.close()

    def sequences(
        self, keys: Sequence[str], before: int = 0, limit: int = 1000, stream: str = DECISIONS
    ) -> list[int]:
        self._catch_up((stream,))
        with self._lock:
            found: set[int] = set()
            digests = [digest_of(key) for key in dict.fromkeys(keys)]
            last = min(before - 1, self._after[stream]) if before else self._after[stream]
            first = self._forgotten[stream] + 1
            for stretch in range(last // STRETCH, first // STRETCH - 1, -1):
                for digest in digests:
                    rows: list[Any] = self._execute(
                        f"SELECT seq FROM {stream} WHERE stretch = ? AND key = ? AND seq BETWEEN ? AND ?"
                        " ORDER BY seq DESC LIMIT ?",
                        (stretch, digest, first, last, limit),
                    )
                    found.update(row[0] for row in rows)
                if len(found) >= limit:
                    break
        return sorted(found, reverse=True)[:limit]

    # Following the logs

    def _follow(self) -> None:
        while not self._stop.is_set():
            with suppress(Unavailable):  # whoever asks is told
                self._catch_up(STREAMS)
                self._sweep()
            self._stop.wait(FOLLOW_SECONDS)

    def _catch_up(self, streams: Sequence[str]) -> None:
        """A step at a time: who asks meanwhile waits for one of them only."""
        for stream in streams:
            while not self._stop.is_set():
                with self._lock:
                    taken = self._take(stream)
                if taken < STEP_LINES:
                    break

    def _take(self, stream: str) -> int:
        try:
            lines = self._lines.bodies(stream, self._after[stream], STEP_LINES)
        except apsw.Error as error:
            raise Unavailable(f"the log of {stream} cannot be read: {error}") from error
        if not lines:
            return 0
        rows = [
            (sequence // STRETCH, digest_of(key), sequence)
            for sequence, body, _ in lines
            for key in touched_by(body)
        ]
        rows.sort()  # neighbours in the tree are written together; what a line names twice is ignored there
        last, _, link = lines[-1]
        try:
            self._write(stream, rows, last, link)
        except apsw.Error as error:
            self._begin_again(error)
            return STEP_LINES  # from the first line on
        self._after[stream] = last
        return len(lines)

    def _write(self, stream: str, rows: list[tuple[int, int, int]], last: int, link: bytes) -> None:
        with self._file:
            insert_rows(self._file, f"INSERT OR IGNORE INTO {stream} VALUES", 3, rows)
            self._file.execute("INSERT OR REPLACE INTO followed VALUES (?, ?, ?)", (stream, last, link))

    def _sweep(self) -> None:
        """Take out lines that the logs no longer have, a stretch at a time."""
        for stream in STREAMS:
            with self._lock:
                oldest = self._lines.oldest(stream)
            if oldest - self._forgotten[stream] <= GONE_MAX:
                continue
            for stretch in range(self._forgotten[stream] // STRETCH, oldest // STRETCH):
                with self._lock:
                    self._execute(f"DELETE FROM {stream} WHERE stretch = ?", (stretch,))
                    self._forgotten[stream] = (stretch + 1) * STRETCH - 1
                if self._stop.wait(0.01):
                    return

    # The file

    def _execute(self, statement: str, bindings: tuple[object, ...]) -> list[Any]:
        try:
            rows: list[Any] = self._file.execute(statement, bindings).fetchall()
        except apsw.Error as error:
            self._begin_again(error)
            raise Unavailable("the index of decisions is made anew: ask again in a moment") from error
        return rows

    def _opened(self) -> apsw.Connection:
        try:
            file = _open(str(self._path))
            if self._learn(file):
                return file
            file.close()
        except apsw.Error as error:
            log.warning("%s is made anew: %s", self._path, error)
        return self._made()

    def _learn(self, file: apsw.Connection) -> bool:
        """How far it follows the logs; False if it does not follow these."""
        if pragma(file, "user_version") != _FORMAT:
            return False
        rows: list[Any] = file.execute("SELECT stream, seq, link FROM followed").fetchall()
        for stream, sequence, link in rows:
            if stream not in self._after or self._lines.link_of(stream, sequence) != bytes(link):
                return False
            self._after[stream] = sequence
        return True

    def _made(self) -> apsw.Connection:
        self._after = dict.fromkeys(STREAMS, 0)
        self._forgotten = dict.fromkeys(STREAMS, 0)
        if self._failed >= _FAILED_MAX:
            return _create(_open(_IN_MEMORY))
        try:
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            return _create(_open(str(self._path)))
        except (apsw.Error, OSError) as error:
            log.warning("%s cannot be written (%s): it is kept in memory", self._path, error)
            return _create(_open(_IN_MEMORY))

    def _begin_again(self, error: apsw.Error) -> None:
        if self._stop.is_set():
            raise Unavailable("the server stops") from error
        self._failed += 1
        log.warning("%s is made anew: %s", self._path, error)
        with suppress(apsw.Error):
            self._file.close()
        self._file = self._made()


def _open(path: str) -> apsw.Connection:
    file = apsw.Connection(path)
    try:
        file.set_busy_timeout(1_000)
        pragma(file, "journal_mode = WAL")
        pragma(file, "synchronous = NORMAL")
        pragma(file, f"cache_size = -{_CACHE_KIB}")
    except apsw.Error:
        file.close()
        raise
    return file


def _create(file: apsw.Connection) -> apsw.Connection:
    with file:
        for stream in STREAMS:
            file.execute(
                f"CREATE TABLE {stream} (stretch INTEGER NOT NULL, key INTEGER NOT NULL, seq INTEGER NOT NULL,"
                " PRIMARY KEY (stretch, key, seq)) WITHOUT ROWID"
            )
        file.execute("CREATE TABLE followed (stream TEXT PRIMARY KEY, seq INTEGER, link BLOB) WITHOUT ROWID")
        file.execute(f"PRAGMA user_version = {_FORMAT}")
    return file

"""Database files of the sqlite journal: their schema, opening and checking them, backups.

Used by `sqlite.py` and by the backup and restore commands. Everything that can be wrong with a file is found
here and said in words that tell the operator what to do; nothing here changes a file it does not recognise.
A version's bytes are stored once, in `log`; `objects` points at the current ones. The index holds all small
columns of the log, so that undoing the present and compacting never touch the values.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from fairlead.core.errors import DataDirectoryError, FormatError, UsageError
from fairlead.store.contract import Entry, JournalError, Key, Recovered

APPLICATION_ID = 0x4661_6972  # "Fair"
FORMAT = 1

_SCHEMA = """
CREATE TABLE log (
  revision INTEGER PRIMARY KEY, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
  uid TEXT NOT NULL, type INTEGER NOT NULL, previous INTEGER NOT NULL, at REAL NOT NULL,
  size INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX log_by_resource ON log (resource, revision, type, previous, at, size, namespace, name);
CREATE TABLE objects (
  resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL,
  PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE floors (
  resource TEXT PRIMARY KEY, floor INTEGER NOT NULL, swept INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE notes (
  stream TEXT NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, revision INTEGER NOT NULL,
  body BLOB NOT NULL, PRIMARY KEY (stream, seq)) WITHOUT ROWID;
"""

TYPE_CODES = {"ADDED": 0, "MODIFIED": 1, "DELETED": 2}
TOMBSTONE = TYPE_CODES["DELETED"]

_RECOVER = """
SELECT o.resource, o.namespace, o.name, o.revision, l.uid, l.previous, l.data, l.type
FROM objects o LEFT JOIN log l
  ON l.revision = o.revision AND l.resource = o.resource AND l.namespace = o.namespace AND l.name = o.name
ORDER BY o.resource, o.namespace, o.name
"""

_RESTORE_HINT = "restore a backup with `fairlead restore`, or move the file away to start empty"


@contextlib.contextmanager
def damage_explained(path: str) -> Iterator[None]:
    """Turn what SQLite says about an unusable file into what an operator can do about it."""
    try:
        yield
    except apsw.NotADBError:
        raise DataDirectoryError(f"{path} is not a Fairlead database; {_RESTORE_HINT}") from None
    except apsw.CorruptError as error:
        raise DataDirectoryError(f"{path} is damaged ({error}); {_RESTORE_HINT}") from None
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise DataDirectoryError(
            f"{path} cannot be opened for writing ({error}); check owner and permissions of the directory"
        ) from None
    except apsw.BusyError:
        raise DataDirectoryError(f"{path} is locked by another program; close what has it open") from None
    except apsw.FullError:
        raise DataDirectoryError(f"no space left on the disk of {path}; free some and start again") from None
    except apsw.IOError as error:
        raise DataDirectoryError(f"{path} cannot be read or written ({error}); check the disk") from None


def journal_error(error: apsw.Error) -> JournalError:
    reason = "StorageFull" if isinstance(error, apsw.FullError) else "StorageFailed"
    return JournalError(reason, f"{type(error).__name__}: {error}")


def pragma(connection: apsw.Connection, text: str) -> object:
    """Run one pragma to its end. One at a time: execute stops at a statement's first row."""
    rows = connection.execute(f"PRAGMA {text}").fetchall()
    return rows[0][0] if rows else None


def merge_on_close(connection: apsw.Connection, merge: bool) -> None:
    """Whether the last connection to close writes the log into the database: never into a damaged one."""
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0 if merge else 1)


def recognise(connection: apsw.Connection, path: str) -> bool:
    """Whether the file is ours (True) or empty (False); anything else is an error. Reads only."""
    application = pragma(connection, "application_id")
    empty = not connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    if application == 0 and empty:
        return False
    if application != APPLICATION_ID:
        raise DataDirectoryError(f"{path} is another program's SQLite database; {_RESTORE_HINT}")
    version = pragma(connection, "user_version")
    if not isinstance(version, int) or version > FORMAT:
        raise FormatError(
            f"{path} has format {version}, written by a newer Fairlead;"
            f" this one reads up to {FORMAT}: upgrade Fairlead"
        )
    return True


def create_schema(connection: apsw.Connection) -> None:
    """All or nothing, so that a crash while creating leaves an empty file."""
    with connection:
        for statement in _SCHEMA.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        pragma(connection, f"application_id = {APPLICATION_ID}")
        pragma(connection, f"user_version = {FORMAT}")


def read_all(connection: apsw.Connection, path: str) -> Recovered:
    """The present as the file tells it, checked: every object has its version and no revision is ahead."""
    last: list[Any] = connection.execute(
        "SELECT revision, at FROM log ORDER BY revision DESC LIMIT 1"
    ).fetchall()
    newest, at = last[0] if last else (0, 0.0)
    pairs: list[Any] = connection.execute("SELECT resource, floor FROM floors").fetchall()
    floors: dict[str, int] = dict(pairs)
    # A swept tombstone may have been the newest row: its floor still remembers the revision.
    newest = max(newest, max(floors.values(), default=0))
    entries = []
    for resource, namespace, name, revision, uid, previous, data, change_type in connection.execute(_RECOVER):
        if data is None or change_type == TOMBSTONE or revision > newest:
            raise DataDirectoryError(
                f"{path} is damaged ({resource} {namespace}/{name} has no version {revision});"
                f" {_RESTORE_HINT}"
            )
        entries.append(Entry(Key(resource, namespace, name), uid, revision, data, previous))
    return Recovered(newest, tuple(entries), floors, at)


def integrity_problems(connection: apsw.Connection) -> list[str]:
    """SQLite's own full check; empty when all is well. Reads every page."""
    rows = connection.execute("PRAGMA integrity_check").fetchall()
    return [str(row[0]) for row in rows if row[0] != "ok"]


def backup(source: str, target: str) -> None:
    """A consistent copy of a database that may be in use. The target appears only when it is complete."""
    if Path(target).exists():
        raise UsageError(f"{target} exists already; name a file that does not")
    partial = f"{target}.partial"
    Path(partial).unlink(missing_ok=True)
    try:
        with damage_explained(source), contextlib.closing(apsw.Connection(source)) as connection:
            connection.set_busy_timeout(10_000)
            connection.execute("VACUUM INTO ?", (partial,)).fetchall()
        _settle(partial, target)
    finally:
        Path(partial).unlink(missing_ok=True)


def read_backup(path: str) -> Recovered:
    """Check a backup completely and return what it holds. Works on read-only media."""
    if not Path(path).is_file():
        raise UsageError(f"there is no backup at {path}")
    uri = f"{Path(path).absolute().as_uri()}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with damage_explained(path), contextlib.closing(apsw.Connection(uri, flags=flags)) as connection:
        if not recognise(connection, path):
            raise DataDirectoryError(f"{path} is empty; name a file that `fairlead backup` wrote")
        problems = integrity_problems(connection)
        if problems:
            raise DataDirectoryError(f"{path} is damaged ({problems[0]}); use another backup")
        return read_all(connection, path)


def _settle(partial: str, target: str) -> None:
    """Make a finished file durable under its name."""
    _sync(partial, os.O_RDWR)
    Path(partial).replace(target)
    _sync(str(Path(target).absolute().parent), os.O_RDONLY)


def _sync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

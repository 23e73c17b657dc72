"""Database files of the sqlite journal: recognising and checking them, backups.

Used by `sqlite.py` and by the backup, restore and check commands. Everything that can be wrong with a file is found
here and said in words that tell the operator what to do; nothing here changes a file it does not recognise.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from fairlead.core.errors import DataDirectoryError, FormatError, UsageError
from fairlead.store import schema
from fairlead.store.contract import JournalError, Recovered
from fairlead.store.recovery import read_all
from fairlead.store.wal import LogReport, examine

_LOG_HEAD_BYTES, _FRAME_HEAD_BYTES = 32, 24  # of SQLite's log
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


def recognise(connection: apsw.Connection, path: str) -> int:
    """The file's format; 0 if it is empty. Anything that is not ours is an error. Reads only."""
    application = pragma(connection, "application_id")
    empty = not connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    if application == 0 and empty:
        return 0
    if application != schema.APPLICATION_ID:
        raise DataDirectoryError(f"{path} is another program's SQLite database; {_RESTORE_HINT}")
    _check_end(connection, path)
    version = pragma(connection, "user_version")
    if not isinstance(version, int) or version > schema.FORMAT:
        raise FormatError(
            f"{path} has format {version}, written by a newer Fairlead;"
            f" this one reads up to {schema.FORMAT}: upgrade Fairlead"
        )
    if pragma(connection, "encoding") != "UTF-8" or not schema.is_sound(connection, version):
        raise DataDirectoryError(
            f"{path} is damaged (its tables are not those of format {version}); {_RESTORE_HINT}"
        )
    return version


def _check_end(connection: apsw.Connection, path: str) -> None:
    """A file that was cut off is refused before anything is read or mended: SQLite notices only at the pages it needs.
    Pages that are not in the file yet may be in the log beside it."""
    file = Path(path)
    if not file.is_file():
        return  # on another disk than this machine's (`vfs`)
    page_bytes, pages = (int(str(pragma(connection, name))) for name in ("page_size", "page_count"))
    found = file.stat().st_size // page_bytes
    if found < pages and not set(range(found + 1, pages + 1)) <= _pages_in_log(path, page_bytes):
        raise DataDirectoryError(
            f"{path} is damaged (it ends after {found} of its {pages} pages); {_RESTORE_HINT}"
        )


def _pages_in_log(path: str, page_bytes: int) -> set[int]:
    """The numbers of pages of which the log has a frame, whole or not."""
    log, step = _content(f"{path}-wal"), page_bytes + _FRAME_HEAD_BYTES
    return {
        int.from_bytes(log[at : at + 4], "big") for at in range(_LOG_HEAD_BYTES, len(log) - step + 1, step)
    }


def examined_log(path: str) -> LogReport:
    """What is wrong with the log beside a database, as the last process left it. To be asked before it is opened."""
    return examine(_content(f"{path}-wal"), _content(f"{path}-shm"))


def newer_without_log(path: str) -> bool:
    """Whether a database is whole by itself and at a newer revision than with the sound part of its log."""
    alone = _newest_sound(f"{Path(path).absolute().as_uri()}?immutable=1", apsw.SQLITE_OPEN_URI)
    return alone > 0 and alone >= _newest_sound(path, 0)


def _newest_sound(path: str, flags: int) -> int:
    """The newest revision of a database whose pointers are all there; -1 if they are not."""
    try:
        with contextlib.closing(
            apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE | flags)
        ) as connection:
            merge_on_close(connection, False)
            version = recognise(connection, path)
            reading = read_all(connection, version) if version else None
            sound = reading is not None and not reading.mended and not reading.recovered.damaged
            return reading.recovered.revision if sound and reading is not None else -1
    except (apsw.Error, DataDirectoryError, FormatError):
        return -1


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return b""


def integrity_problems(connection: apsw.Connection) -> list[str]:
    """SQLite's own full check; empty when all is well. Reads every page."""
    try:
        rows = connection.execute("PRAGMA integrity_check").fetchall()
    except apsw.CorruptError as error:
        return [str(error)]
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
        version = recognise(connection, path)
        if not version:
            raise DataDirectoryError(f"{path} is empty; name a file that `fairlead backup` wrote")
        problems = integrity_problems(connection)
        if problems:
            raise DataDirectoryError(f"{path} is damaged ({problems[0]}); use another backup")
        return read_all(connection, version).recovered


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

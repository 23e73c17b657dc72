"""The data directory: one plane's whole durable state, held by one process at a time.

    DIR/lock       flock of the process that has it open; holds its pid for the message of the second one
    DIR/FORMAT     version of the directory's layout
    DIR/store.db   the store (store/sqlite.py); -wal and -shm beside it belong to it
    DIR/revision   how far revisions were given out (revision_mark.py)

Opened by `fairlead up` and `serve` before anything else, and by the commands that touch the files directly.
Whatever is wrong is said here as an OperatorError that names the path and what to do.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType

from fairlead.core.errors import DataDirectoryBusy, DataDirectoryError, FormatError
from fairlead.runtime.data.log_bounds import LOGS
from fairlead.runtime.data.revision_mark import FILE as MARK_FILE
from fairlead.runtime.data.revision_mark import RevisionMark, write_closed_mark
from fairlead.runtime.private_files import sync_directory
from fairlead.store.database_files import examined_log, newer_without_log
from fairlead.store.sqlite import SqliteJournal
from fairlead.store.wal import LogReport

FORMAT = 3

log = logging.getLogger("fairlead.runtime")

Upgrade = Callable[[Path], None]


class DataDirectory:
    """An open data directory. Close it (or leave the `with` block) to let go of the lock."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @property
    def store_path(self) -> Path:
        return self.path / "store.db"

    def journal(self) -> SqliteJournal:
        """Open the store's journal; the caller closes it before the directory."""
        path = self.store_path
        try:
            if not path.exists():
                _refuse_orphan(path)
                _make_store(path)
            elif path.stat().st_size == 0:
                raise DataDirectoryError(
                    f"{path} is empty, though a store never is; restore a backup with `fairlead restore`, or move"
                    " it and what is named like it away to start empty"
                )
            return _checked_journal(self.path, path)
        except OSError as error:
            raise _unusable(self.path, error) from error

    def close(self) -> None:
        """Doing it twice is doing it once."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> DataDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_data_directory(path: Path, upgrades: Mapping[int, Upgrade] | None = None) -> DataDirectory:
    """Create it if needed, lock it, check or upgrade its format."""
    path = Path(path).absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        _take(lock, path)
        _check_format(path, UPGRADES if upgrades is None else upgrades)
    except OSError as error:
        os.close(lock)
        raise _unusable(path, error) from error
    except BaseException:
        os.close(lock)
        raise
    return DataDirectory(path, lock)


def _checked_journal(directory: Path, path: Path) -> SqliteJournal:
    """The log is looked at before SQLite opens it: SQLite forgets what comes after a damaged frame without a word."""
    report = examined_log(str(path))
    mark = RevisionMark(directory, report.lost)
    if mark.unreadable and (directory / "FORMAT").read_bytes().strip() != b"1":
        log.error(
            "%s is missing or damaged; it is made anew, and says nothing of the past", directory / MARK_FILE
        )
    if report.lost:
        _set_aside(path, report)
    return SqliteJournal(str(path), logs=LOGS, witness=mark, opened_at=time.time())


def _set_aside(path: Path, report: LogReport) -> None:
    """Keep a copy of a damaged log. If the database by itself is whole and newer than with what is left of the log
    (all of it had been merged), the log is not used at all."""
    damaged = path.with_name(path.name + "-wal")
    kept = path.with_name(f"{path.name}-wal.damaged")
    log.error("%s is damaged: %s; a copy is kept as %s", damaged, report.lost, kept.name)
    shutil.copyfile(damaged, kept) if damaged.exists() else None
    if newer_without_log(str(path)):
        log.error("%s had been merged into %s: nothing is lost with it", damaged, path)
        damaged.unlink()
        path.with_name(path.name + "-shm").unlink(missing_ok=True)


def _upgrade_store(directory: Path) -> None:
    """The tables of the store, by opening it; and the mark. Both are found done when this is begun again."""
    path = directory / "store.db"
    if not path.exists():
        return
    journal = _checked_journal(directory, path)
    try:
        journal.recover()
    finally:
        journal.close()


# From each older format to the next: what to do with the directory. FORMAT is rewritten after each step.
UPGRADES: Mapping[int, Upgrade] = MappingProxyType({1: _upgrade_store, 2: _upgrade_store})


def _refuse_orphan(path: Path) -> None:
    """SQLite would silently delete a log whose database is gone, and with it the newest writes."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise DataDirectoryError(
            f"{path} is missing though {log.name} is there; put it back, restore a backup with `fairlead restore`,"
            f" or move {log.name} away to start empty"
        )


def _make_store(path: Path) -> None:
    """Under another name until it is whole: a store.db without contents is then always damage."""
    partial = path.with_name(path.name + ".partial")
    for suffix in ("", "-wal", "-shm"):
        partial.with_name(partial.name + suffix).unlink(missing_ok=True)
    SqliteJournal(str(partial)).close()
    write_closed_mark(path.parent, 0)
    partial.replace(path)
    sync_directory(path.parent)


def _take(lock: int, path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(lock, 32, 0).decode(errors="replace").strip()
        who = f"process {holder}" if holder.isdigit() else "another process"
        raise DataDirectoryBusy(
            f"{path} is in use by {who}; stop it first, or choose another directory with --data-dir"
        ) from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _check_format(path: Path, upgrades: Mapping[int, Upgrade]) -> None:
    file = path / "FORMAT"
    if not file.exists():
        if (path / "store.db").exists():
            raise DataDirectoryError(
                f"{file} is missing though there is a store.db; if the directory is Fairlead's, restore a"
                " backup into an empty directory, otherwise choose another one with --data-dir"
            )
        _write_format(file, FORMAT)
        return
    text = file.read_bytes()[:64].decode(errors="replace").strip()
    if not (text.isascii() and text.isdigit()):
        raise DataDirectoryError(
            f"{file} holds {text!r}, not a version number; restore a backup into an empty directory"
        )
    version = int(text)
    if version > FORMAT:
        raise FormatError(
            f"{path} has format {version}, written by a newer Fairlead; this one knows up to {FORMAT}:"
            " upgrade Fairlead, or choose another directory with --data-dir"
        )
    while version < FORMAT:
        upgrade = upgrades.get(version)
        if upgrade is None:
            raise FormatError(
                f"{path} has format {version}, which this Fairlead can no longer upgrade; open it once with"
                " an older release that can, or restore a backup"
            )
        upgrade(path)
        version += 1
        _write_format(file, version)


def _write_format(file: Path, version: int) -> None:
    partial = file.with_name("FORMAT.partial")
    with partial.open("wb") as handle:
        handle.write(f"{version}\n".encode())
        handle.flush()
        os.fsync(handle.fileno())
    partial.replace(file)
    sync_directory(file.parent)


def _unusable(path: Path, error: OSError) -> DataDirectoryError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DataDirectoryError(f"no space left for {path}; free some on that disk and start again")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return DataDirectoryError(
            f"{path} cannot be written ({error.strerror}); make it writable for this user, or choose another"
            " directory with --data-dir"
        )
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return DataDirectoryError(f"{path} is not a directory; choose another one with --data-dir")
    return DataDirectoryError(f"{path} cannot be used ({error.strerror}); choose another with --data-dir")

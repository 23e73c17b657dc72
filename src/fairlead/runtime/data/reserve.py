"""Room that is kept on the store's disk for the time when that is full: nodes' leases, leadership and deletions use it.

    DIR/store.db-wal   is made as long as it gets between two checkpoints, once: what fits into it needs no room
    DIR/reserve        a file of zeros. When a write meets a full disk it is given up, and the database takes its place
                       at once: what the log holds, and pages for what is to come. Made again when there is room for it
                       and some more

Nobody else can take what is in the database's own files, however they fill the disk. While it is full history is
compacted early, so that leases are renewed in the place of older ones, and what was deleted is free for further writes.

Made by `runtime/server/process.py`; called by the store driver on its writer thread. The store machine decides what may
be written meanwhile (`store/room.py`).
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Protocol

#: bound: connections | the write-ahead log, from the start | it grows
WAL_BYTES = 6 * 1024 * 1024
#: bound: connections | empty pages taken on a full disk | 507
PAGES_BYTES = 3 * 1024 * 1024  # what the database has free from then on
#: bound: connections | of them, for leases alone | a deletion is 507
LEASES_BYTES = 1024 * 1024  # of that, what deletions leave alone
#: bound: connections | room kept on the disk | only leases, overrides, runs of runbooks and deletions are written
RESERVE_BYTES = 10 * 1024 * 1024  # a log that is full, those pages, and some
# So much more must be free before the reserve is taken again: else its end would be met again at once.
#: bound: connections | free besides, before it is kept again | 507
RESERVE_MARGIN_BYTES = 2 * 1024 * 1024


class Pages(Protocol):
    """Of `store/sqlite.py`, what this needs."""

    def free_bytes(self) -> int: ...

    def take_room(self, size: int) -> None: ...


class Reserve:
    def __init__(self, store_path: Path, pages: Pages) -> None:
        self._file = store_path.with_name("reserve")
        self._wal = store_path.with_name(store_path.name + "-wal")
        self._pages = pages
        self._lives_inside = False  # on room inside of the database, with no file kept

    def hold(self) -> bool:
        """Make what is missing; True if the reserve is there."""
        with contextlib.suppress(OSError):
            _allocate(self._wal, WAL_BYTES, os.O_RDWR)
        try:
            if not self._file.exists() and _free(self._file.parent) < RESERVE_BYTES + RESERVE_MARGIN_BYTES:
                return False
            _allocate(self._file, RESERVE_BYTES, os.O_RDWR | os.O_CREAT)
        except OSError:
            self._file.unlink(missing_ok=True)
            return False
        return True

    def use(self) -> None:
        """A write has met a full disk. JournalError if even so there is no room."""
        self._lives_inside = False
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)
        self._pages.take_room(PAGES_BYTES)

    def left(self) -> int:
        """What deletions may take, in bytes."""
        return max(0, self._pages.free_bytes() - LEASES_BYTES)

    def regained(self) -> bool:
        """Whether everybody may write again: there is room on the disk, or deletions have made it in the database."""
        self._lives_inside = False
        if not self.hold():
            self._lives_inside = self._pages.free_bytes() >= RESERVE_BYTES + RESERVE_MARGIN_BYTES
            return self._lives_inside
        return True

    def runs_out(self) -> bool:
        """Whether what is free inside has come down to what must be kept. Asked after each append."""
        return self._lives_inside and self._pages.free_bytes() < RESERVE_BYTES


def _free(directory: Path) -> int:
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


def _allocate(path: Path, size: int, flags: int) -> None:
    """Blocks for all of it, whatever it holds already. What is longer stays as it is."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_size < size:
            os.posix_fallocate(descriptor, 0, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
    finally:
        os.close(descriptor)

"""How far revisions were given out, kept outside of the store: DIR/revision, written ahead in blocks.

The database cannot tell that its newest transactions are missing; this can. The mark is raised, durably, before a
revision above it is written, a block at a time, so that it costs one sync in thousands of writes; an orderly close
leaves the exact revision. So the store is behind the mark by less than a block, or something acknowledged is gone. Two
copies, each in a sector of its own and written in turn, in place: a torn write or a full disk leaves the other one.

A third sector says which revision was acknowledged last. It is written after each sync of the store and not synced
itself: a kill leaves it, and of a power cut it knows all but the last moments. It never knows too much. So it tells
the last transaction of the log, damaged, from one that was cut off while it was written.

`directory.py` opens it for the journal (`store/witness.py` is what that knows of it).
"""

from __future__ import annotations

import os
import zlib
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from fairlead.runtime.private_files import OWNER_ONLY, sync_directory
from fairlead.store.contract import OPERATIONS_MAX
from fairlead.store.machine import StoreLimits

FILE = "revision"
BLOCK = 4096  # revisions
# A mark is raised for a batch that may then not have become durable.
_SLACK = StoreLimits().batch_changes_max + OPERATIONS_MAX
_SLOT_BYTES = 512
_DIGEST_BYTES = 8
_ACKNOWLEDGED_AT = 2 * _SLOT_BYTES
_FILE_BYTES = 3 * _SLOT_BYTES


class Mark(NamedTuple):
    number: int  # which writing of the file this was; the higher one holds
    promised: int
    closed: bool  # in order: `promised` is exact


class RevisionMark:
    """Implements `Witness`."""

    def __init__(self, directory: Path, log_lost: str = "") -> None:
        """`log_lost`: what the log beside the database said of acknowledged writes before it was opened."""
        self._path = directory / FILE
        self._log_lost = log_lost
        self._missing = not self._path.exists()
        self._mark = read_mark(directory)
        self._acknowledged = read_acknowledged(directory)
        self._descriptor = -1  # while a journal is appended to
        self._settled = False

    @property
    def promised(self) -> int:
        return self._mark.promised if self._mark else 0

    @property
    def acknowledged(self) -> int:
        """As of the start: a mark that a disk forgot may know of less."""
        return self._acknowledged

    @property
    def unreadable(self) -> bool:
        """There is no mark, or neither copy is whole."""
        return self._mark is None

    def doubt(self, newest: int) -> str:
        if self._settled:
            return ""
        return self._log_lost or mark_doubt(self._mark, newest, self._acknowledged)

    def reach(self, revision: int) -> None:
        self._write(revision + BLOCK, closed=False)

    def acknowledge(self, revision: int) -> None:
        try:
            if self._descriptor < 0:
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            os.pwrite(self._descriptor, _acknowledgement(revision), _ACKNOWLEDGED_AT)
        except OSError:
            return  # an older one is true as well, only less exact

    def settle(self, revision: int) -> None:
        self._settled = True
        if revision > self.promised:
            self._write(revision + BLOCK, closed=False)

    def close(self, revision: int) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        try:
            if self._mark != Mark(self._mark.number if self._mark else 0, revision, True):
                self._write(revision, closed=True)
        except OSError:
            return  # the one that is there is still true, only less exact

    def _write(self, promised: int, *, closed: bool) -> None:
        number = self._mark.number + 1 if self._mark else 1
        mark = Mark(number, promised, closed)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, OWNER_ONLY)
        try:
            if self._missing:
                os.pwrite(descriptor, bytes(_FILE_BYTES), 0)
            os.pwrite(descriptor, _slot(mark), number % 2 * _SLOT_BYTES)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if self._missing:
            sync_directory(self._path.parent)
        self._missing = False
        self._mark = mark


def mark_doubt(mark: Mark | None, newest: int, acknowledged: int) -> str:
    """Why a store with this newest revision is not the one that the mark was written for; "" if it can be."""
    if mark is not None and (doubt := _doubt_of(mark, newest)):
        return doubt
    if newest < acknowledged:
        return f"revision {acknowledged} was acknowledged, and the store is at {newest}"
    return ""


def _doubt_of(mark: Mark, newest: int) -> str:
    if mark.closed and newest != mark.promised:
        return f"the store was closed at revision {mark.promised}, and is at {newest}"
    if newest > mark.promised:
        return f"no revision above {mark.promised} was promised, and the store is at {newest}"
    if newest < mark.promised - BLOCK - _SLACK:
        return f"revisions up to about {mark.promised - BLOCK} were given out, and the store is at {newest}"
    return ""


def read_mark(directory: Path) -> Mark | None:
    try:
        content = (directory / FILE).read_bytes()
    except OSError:
        return None
    marks = [_mark(content[at : at + _SLOT_BYTES]) for at in (0, _SLOT_BYTES)]
    return max([mark for mark in marks if mark is not None], default=None)


def read_acknowledged(directory: Path) -> int:
    """The newest revision of which it is known that callers were told; 0 if nothing is known."""
    try:
        content = (directory / FILE).read_bytes()[_ACKNOWLEDGED_AT:_FILE_BYTES]
    except OSError:
        return 0
    text, _, _ = content.partition(b"\n")
    revision = text.partition(b" ")[0]
    return int(revision) if revision.isdigit() and text + b"\n" == _acknowledgement(int(revision)) else 0


def _acknowledgement(revision: int) -> bytes:
    """One line of a fixed length: written over a longer one it leaves nothing of that."""
    text = b"%020d" % revision
    return b"%b %08x\n" % (text, zlib.crc32(text))


def write_closed_mark(directory: Path, revision: int) -> None:
    """For a directory that is just being made of a store at this revision."""
    RevisionMark(directory)._write(revision, closed=True)


def _slot(mark: Mark) -> bytes:
    text = f"{mark.number} {mark.promised} {'closed' if mark.closed else 'open'}"
    return f"{text} {_digest(text)}\n".encode().ljust(_SLOT_BYTES, b"\0")


def _mark(slot: bytes) -> Mark | None:
    text, _, digest = slot.rstrip(b"\0").decode(errors="replace").rstrip("\n").rpartition(" ")
    if digest != _digest(text):
        return None
    number, promised, state = text.split()
    return Mark(int(number), int(promised), state == "closed")


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="replace"), digest_size=_DIGEST_BYTES).hexdigest()

"""A power cut, because the page cache survives a kill: SQLite on a disk that forgets what was not synced.

The disk is an apsw VFS in memory. Each file has what programs read (`cached`) and what survives (`synced`);
only xSync moves bytes from one to the other. An image of what survives is taken at every sync, just before
and just after it, and whenever a batch has been acknowledged; then each image is opened as after a reboot.
apsw offers no shared memory to a VFS of its own, so the journal runs on one connection here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest

from fairlead.model.key import Key
from fairlead.store.contract import Entry, Note, Put, Remove, Retention, Transaction
from fairlead.store.database_files import integrity_problems
from fairlead.store.events import Append, Appended, FloorsMoved, Flush, Submitted
from fairlead.store.machine import Store
from fairlead.store.sqlite import SqliteJournal
from fairlead.store.wal import examine

Image = dict[str, bytes]
Survivors = str  # which unsynced writes reach the platter all the same: "none", "even", "last"


class _File:
    """Contents of one file, and the writes since its last sync."""

    def __init__(self, content: bytes = b"") -> None:
        self.cached = bytearray(content)
        self.synced: bytes | None = content or None
        self.unsynced: list[tuple[int, bytes]] = []

    def write(self, data: bytes, offset: int) -> None:
        _write_at(self.cached, data, offset)
        self.unsynced.append((offset, data))

    def truncate(self, size: int) -> None:
        del self.cached[size:]

    def sync(self) -> None:
        self.synced = bytes(self.cached)
        self.unsynced.clear()

    def surviving(self, survivors: Survivors) -> bytes | None:
        kept = {"none": [], "even": self.unsynced[::2], "last": self.unsynced[-1:]}[survivors]
        if self.synced is None and not kept:
            return None
        content = bytearray(self.synced or b"")
        for offset, data in kept:
            _write_at(content, data, offset)
        return bytes(content)


def _write_at(content: bytearray, data: bytes, offset: int) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


class _Handle:
    """An open file, as apsw calls it."""

    def __init__(self, disk: ForgetfulDisk, file: _File, name: str) -> None:
        self._disk, self._file, self._name = disk, file, name

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        return bytes(self._file.cached[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._file.write(bytes(data), offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._file.truncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.cut("before a sync")
        self._file.sync()
        self._disk.cut("after a sync")

    def xFileSize(self) -> int:  # noqa: N802
        return len(self._file.cached)

    def xClose(self) -> None:  # noqa: N802
        return None

    def xLock(self, level: int) -> None:  # noqa: N802
        return None

    def xUnlock(self, level: int) -> None:  # noqa: N802
        return None

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:  # noqa: N802
        return False

    def xSectorSize(self) -> int:  # noqa: N802
        return 512

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        return 0


class ForgetfulDisk(apsw.VFS):
    """`images` collects what would survive, with the revision acknowledged by then."""

    _numbers = itertools.count()

    def __init__(self, image: Image | None = None, survivors: Survivors = "none") -> None:
        self.name = f"forgetful{next(self._numbers)}"
        self._files = {name: _File(content) for name, content in (image or {}).items()}
        self._survivors = survivors
        self.acknowledged = 0
        self.images: list[tuple[str, int, Image]] = []
        super().__init__(self.name, "")

    def cut(self, moment: str) -> None:
        image = {name: file.surviving(self._survivors) for name, file in self._files.items()}
        kept = {name: content for name, content in image.items() if content is not None}
        self.images.append((moment, self.acknowledged, kept))

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name

    def xOpen(self, name: object, flags: list[int]) -> Any:  # noqa: N802 - apsw takes what has the methods
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name or f"temp{id(flags)}")
        flags[1] = flags[0]
        return _Handle(self, self._files.setdefault(path, _File()), path)

    def xAccess(self, path: str, flags: int) -> bool:  # noqa: N802
        return path in self._files

    def xDelete(self, path: str, sync_directory: bool) -> None:  # noqa: N802
        self.cut("before a deletion")
        self._files.pop(path, None)


@contextmanager
def journal_on(disk: ForgetfulDisk, synchronous: str = "FULL") -> Iterator[SqliteJournal]:
    journal = SqliteJournal(
        "/store.db", vfs=disk.name, shared_memory=False, synchronous=synchronous, checkpoint_pages=12
    )
    try:
        yield journal
    finally:
        journal.close()


def _write(name: str, value: int) -> Put:
    at = Key("pods", "default", name)
    return Put(at, "u", b'{"metadata":{"resourceVersion":"', b'"},"value":"%d%b"}' % (value, b"." * 900))


def _batches() -> list[list[Transaction]]:
    """Creates, updates, transactions of several keys, deletes, notes."""
    batches = []
    for turn in range(24):
        here = [Transaction((_write(f"p{turn}", turn), _write(f"q{turn % 5}", turn)))]
        here.append(Transaction((_write(f"r{turn % 3}", turn),), (), (Note("audit", b'{"turn":%d}' % turn),)))
        if turn % 4 == 3:
            gone = _write(f"p{turn - 1}", turn)
            here.append(Transaction((Remove(gone.key, "u", gone.head, gone.tail),)))
        batches.append(here)
    return batches


def run_workload(disk: ForgetfulDisk, synchronous: str) -> dict[int, tuple[Entry, ...]]:
    """The state after each batch, by its revision. Images pile up on the disk."""
    states: dict[int, tuple[Entry, ...]] = {0: ()}
    tickets = itertools.count()
    with journal_on(disk, synchronous) as journal:
        store = Store(journal.recover(), journal)
        for number, batch in enumerate(_batches()):
            for transaction in batch:
                store.handle(Submitted(next(tickets), transaction))
            (append,) = store.handle(Flush(1000.0 + number))
            assert isinstance(append, Append)
            # What the batch holds if it becomes durable is known before it is acknowledged.
            present = {entry.key: entry for entry in store.list("pods")}
            for change in append.batch.changes:
                if change.type == "DELETED":
                    del present[change.entry.key]
                else:
                    present[change.entry.key] = change.entry
            states[append.batch.changes[-1].entry.revision] = tuple(present[key] for key in sorted(present))
            journal.append(append.batch)
            store.handle(Appended())
            disk.acknowledged = store.revision
            disk.cut("after an acknowledgement")
            if number % 6 == 5:
                floors = journal.compact(1000.0 + number, {"": Retention(seconds=3.0)}, 20)
                store.handle(FloorsMoved(floors))
    return states


def problem_after(acknowledged: int, image: Image, states: dict[int, tuple[Entry, ...]]) -> str:
    """Open an image as after a reboot; what was lost or torn, or nothing."""
    alarm = examine(image.get("/store.db-wal", b""), b"").lost
    if alarm:
        return f"an ordinary power cut raised an alarm: {alarm}"
    with journal_on(ForgetfulDisk(image)) as journal:
        damage = integrity_problems(journal._reader)
        if damage:
            return damage[0]
        recovered = journal.recover()
        if recovered.revision < acknowledged:
            return f"revision {acknowledged} was acknowledged, {recovered.revision} is what survived"
        if recovered.revision not in states:
            return f"half a batch survived: {recovered.revision}"
        if recovered.entries != states[recovered.revision]:
            return f"the objects at {recovered.revision} are not what was written"
        store = Store(recovered, journal)
        store.handle(Submitted(1, Transaction((_write("after", 1),))))
        (append,) = store.handle(Flush(2000.0))
        assert isinstance(append, Append)
        journal.append(append.batch)
        if journal.recover().revision != recovered.revision + 1:
            return "the first write after the cut did not get the next revision"
    return ""


def problems(synchronous: str, survivors: Survivors) -> tuple[int, list[str]]:
    disk = ForgetfulDisk(survivors=survivors)
    states = run_workload(disk, synchronous)
    found = []
    for moment, acknowledged, image in disk.images:
        problem = problem_after(acknowledged, image, states)
        if problem:
            found.append(f"cut {moment}: {problem}")
    return len(disk.images), found


@pytest.mark.parametrize("survivors", ["none", "even", "last"])
def test_no_acknowledged_write_is_lost_by_a_power_cut_at_any_sync(survivors: Survivors) -> None:
    cuts, found = problems("FULL", survivors)
    assert cuts > 80
    assert not found, found[:3]


@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL"])
def test_the_test_can_fail_because_without_full_syncs_acknowledged_writes_are_lost(synchronous: str) -> None:
    _, found = problems(synchronous, "none")
    assert any("was acknowledged" in problem for problem in found)

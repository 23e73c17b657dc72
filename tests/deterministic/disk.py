"""A disk in memory that does to SQLite, and to the revision mark beside it, what disks do: tears, forgets, fills, lies, rots.

    write ──> cached ──sync──> platter        a power cut leaves the platter, and what chance lets through of the rest

`Disk` is an apsw VFS; `files` and `directory` give the same files to code that goes by `os` and `Path`
(`runtime/data/revision_mark.py`). Every write, truncation, sync and deletion is an operation at which the power can be
cut. A write that was not synced survives whole, by some of its sectors, or not at all.
"""

from __future__ import annotations

import errno
import itertools
import os
from dataclasses import dataclass
from typing import Any

import apsw

from fairlead.sim.chance import Chance

_SECTOR = 512
_NO_CUT = 1 << 60


class PowerCut(apsw.IOError):
    """Nothing is done any more."""


@dataclass(frozen=True, slots=True)
class DiskFaults:
    """Of operations, how many meet each."""

    write_fails: float = 0.0
    sync_fails: float = 0.0
    sync_lies: float = 0.0  # says that it is done, and nothing was


class _File:
    def __init__(self) -> None:
        self.cached = bytearray()
        self.platter = bytearray()
        self.pending: list[tuple[int, bytes | None]] = []  # (offset, data), or (size, None) for a truncation

    def do(self, at: int, data: bytes | None) -> None:
        _apply(self.cached, at, data)
        self.pending.append((at, data))

    def sync(self) -> None:
        for at, data in self.pending:
            _apply(self.platter, at, data)
        self.pending.clear()

    def lose_power(self, chance: Chance, name: str) -> None:
        fate = chance.stream("survives", name)
        for at, data in self.pending:
            drawn = fate.choose(4)
            if data is None or drawn == 1:
                if drawn:
                    _apply(self.platter, at, data)
            elif drawn == 2:  # up to some sector
                _apply(self.platter, at, data[: _SECTOR * fate.choose(1 + len(data) // _SECTOR)])
            elif drawn == 3:  # some sectors, in whatever order the disk wrote them
                for start in range(0, len(data), _SECTOR):
                    if fate.choose(2):
                        _apply(self.platter, at + start, data[start : start + _SECTOR])
        self.pending.clear()
        self.cached = bytearray(self.platter)


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del content[at:]
        return
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


class Disk(apsw.VFS):
    _names = itertools.count()

    def __init__(self, chance: Chance, faults: DiskFaults) -> None:
        self.name = f"disk{next(self._names)}"
        self.chance, self.faults = chance, faults
        self.operations = 0
        self.cut_at = _NO_CUT  # the operation at which the power is cut
        self.dead = False
        self.room: int | None = None  # how many bytes all files may have together; None: enough
        self.content: dict[str, _File] = {}
        super().__init__(self.name, "")

    # The machine

    def reboot(self) -> None:
        """What survived is all there is."""
        for name in sorted(self.content):
            self.content[name].lose_power(self.chance, name)
        self.content = {name: file for name, file in self.content.items() if file.platter}
        self.dead, self.cut_at = False, _NO_CUT

    def rot(self, name: str) -> None:
        """One bit of a file is another."""
        platter = self.content[name].platter
        drawn = self.chance.stream("rot", name)
        platter[drawn.choose(len(platter))] ^= 1 << drawn.choose(8)
        self.content[name].cached = bytearray(platter)

    def operate(self, name: str, grows_to: int = 0) -> None:
        """Before each operation on a file."""
        self.operations += 1
        if self.dead or self.operations >= self.cut_at:
            self.dead = True
            raise PowerCut("the power is cut")
        if self.room is not None and grows_to > len(self.content[name].cached):
            taken = sum(len(file.cached) for file in self.content.values()) - len(self.content[name].cached)
            if taken + grows_to > self.room:
                raise apsw.FullError("no space left")

    def write(self, name: str, data: bytes, offset: int) -> None:
        self.operate(name, offset + len(data))
        if self.chance.faults("disk.write_fails", name).happens(self.faults.write_fails):
            raise apsw.IOError("the write failed")
        self.content[name].do(offset, data)

    def sync(self, name: str) -> None:
        self.operate(name)
        if self.chance.faults("disk.sync_fails", name).happens(self.faults.sync_fails):
            raise apsw.IOError("the sync failed")
        if not self.chance.faults("disk.sync_lies", name).happens(self.faults.sync_lies):
            self.content[name].sync()

    # As SQLite sees it

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name

    def xOpen(self, name: object, flags: list[int]) -> Any:  # noqa: N802 - apsw takes what has the methods
        path = (
            name.filename() if isinstance(name, apsw.URIFilename) else str(name or f"/temporary{id(flags)}")
        )
        flags[1] = flags[0]
        self.content.setdefault(path, _File())
        return _Handle(self, path)

    def xAccess(self, path: str, flags: int) -> bool:  # noqa: N802
        return path in self.content

    def xDelete(self, path: str, sync_directory: bool) -> None:  # noqa: N802
        self.content.setdefault(path, _File())
        self.operate(path)
        del self.content[path]


class _Handle:
    def __init__(self, disk: Disk, name: str) -> None:
        self._disk, self._name = disk, name

    @property
    def _file(self) -> _File:
        return self._disk.content.setdefault(self._name, _File())

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        return bytes(self._file.cached[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.write(self._name, bytes(data), offset)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self._disk.operate(self._name)
        self._file.do(size, None)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.sync(self._name)

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
        return _SECTOR

    def xDeviceCharacteristics(self) -> int:  # noqa: N802 - as SQLite's own on Unix: a torn write harms no neighbour
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE


class DiskPath:
    """A path on the disk, as far as the mark uses one."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk, self.name = disk, name

    def __truediv__(self, name: str) -> DiskPath:
        return DiskPath(self._disk, f"{self.name.rstrip('/')}/{name}")

    @property
    def parent(self) -> DiskPath:
        return DiskPath(self._disk, self.name.rpartition("/")[0] or "/")

    def exists(self) -> bool:
        return self.name in self._disk.content

    def read_bytes(self) -> bytes:
        if not self.exists():
            raise FileNotFoundError(errno.ENOENT, "no such file")
        return bytes(self._disk.content[self.name].cached)


class DiskOs:
    """`os` for code that opens, writes and syncs files by descriptor."""

    O_RDWR, O_CREAT, O_CLOEXEC = os.O_RDWR, os.O_CREAT, os.O_CLOEXEC

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._open: dict[int, str] = {}

    def open(self, path: DiskPath, flags: int, mode: int = 0o777) -> int:
        if not flags & os.O_CREAT and not path.exists():
            raise FileNotFoundError(errno.ENOENT, "no such file")
        self._disk.content.setdefault(path.name, _File())
        number = 1000 + len(self._open)
        self._open[number] = path.name
        return number

    def pwrite(self, descriptor: int, data: bytes, offset: int) -> int:
        try:
            self._disk.write(self._open[descriptor], data, offset)
        except apsw.FullError:
            raise OSError(errno.ENOSPC, "no space left") from None
        except apsw.IOError as error:
            raise OSError(errno.EIO, str(error)) from None
        return len(data)

    def fsync(self, descriptor: int) -> None:
        try:
            self._disk.sync(self._open[descriptor])
        except apsw.IOError as error:
            raise OSError(errno.EIO, str(error)) from None

    def close(self, descriptor: int) -> None:
        return None

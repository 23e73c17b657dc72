"""Reading a run's log: the newest or the previous, its end, from an instant on, with times, and as it grows.

    read(open_directory, LogOptions(...), runs) -> pieces of bytes, for the node's endpoint (`kubectl logs`)

Spans the files of a run (`log_files.py`), also while they are rotated. Records of one line are joined; a record that is
not yet whole is not seen. Memory is bounded by one piece, whatever the log.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import BinaryIO, cast

import msgspec

from fairlead.agent.drivers import files_beneath
from fairlead.agent.drivers.log_files import FILES_MAX, STAMP_LENGTH, format_stamp, list_attempts, log_file

PIECE_BYTES = 64 * 1024
#: bound: processes | a followed log is looked at every | -
FOLLOW_SECONDS = 0.2  # between two looks at a log that is followed
_STREAM_LENGTH = len("stdout")
_FLAG_AT = STAMP_LENGTH + 1 + _STREAM_LENGTH + 1
_TEXT_AT = _FLAG_AT + 2


class LogOptions(msgspec.Struct, frozen=True):
    """As PodLogOptions of Kubernetes has it."""

    previous: bool = False
    tail_lines: int | None = None
    since: float | None = None  # seconds since the epoch
    timestamps: bool = False
    limit_bytes: int | None = None
    follow: bool = False


def read(
    open_directory: Callable[[], int], wanted: LogOptions, runs: Callable[[int], bool]
) -> AsyncIterator[bytes]:
    """`open_directory`: a descriptor of where the logs are. `runs` says whether an attempt may still print. LookupError
    if there is no such log."""
    try:
        directory = open_directory()
    except OSError:
        raise LookupError("nothing was printed yet") from None
    try:
        known = list_attempts(directory)
    finally:
        os.close(directory)
    if len(known) < (2 if wanted.previous else 1):
        raise LookupError(
            "there is no previous run with a log" if wanted.previous else "nothing was printed yet"
        )
    return _pieces(open_directory, known[-2] if wanted.previous else known[-1], wanted, runs)


async def _pieces(
    open_directory: Callable[[], int], attempt: int, wanted: LogOptions, runs: Callable[[int], bool]
) -> AsyncIterator[bytes]:
    try:
        directory = open_directory()
    except OSError:
        return  # the pod was removed meanwhile
    files = _Files(directory, attempt)
    shape = _Shape(wanted)
    left = wanted.limit_bytes
    try:
        if wanted.tail_lines is not None:
            await asyncio.to_thread(files.skip_to_tail, wanted.tail_lines)
        else:
            files.rewind()
        while True:
            # Asked before the look: what is printed by then is seen by it.
            over = not (wanted.follow and runs(attempt))
            while piece := files.next_piece():
                shown = shape.show(piece)
                if left is not None:
                    shown = shown[:left]
                    left -= len(shown)
                if shown:
                    yield shown
                if left == 0:
                    return
                await asyncio.sleep(0)
            if over:
                return
            await asyncio.sleep(FOLLOW_SECONDS)
    finally:
        files.close()
        os.close(directory)


class _Shape:
    """From records to what was asked for."""

    def __init__(self, wanted: LogOptions) -> None:
        self._times = wanted.timestamps
        self._since = format_stamp(int(wanted.since * 1e9)) if wanted.since is not None else b""
        self._within: dict[bytes, bool] = {}  # by stream: in the middle of a line

    def show(self, records: bytes) -> bytes:
        shown: list[bytes] = []
        for record in records.split(b"\n")[:-1]:
            if len(record) < _TEXT_AT or record[:STAMP_LENGTH] < self._since:
                continue
            stream = record[STAMP_LENGTH + 1 : _FLAG_AT - 1]
            if self._times and not self._within.get(stream):
                shown.append(record[: STAMP_LENGTH + 1])
            shown.append(record[_TEXT_AT:])
            whole = record[_FLAG_AT : _FLAG_AT + 1] == b"F"
            self._within[stream] = not whole
            if whole:
                shown.append(b"\n")
        return b"".join(shown)


class _Files:
    """The files of one run as one stream of records, oldest first, through rotations."""

    def __init__(self, directory: int, attempt: int) -> None:
        self._directory = directory
        self._attempt = attempt
        self._file: BinaryIO | None = None
        self._rest = b""

    def _name(self, age: int) -> str:
        return log_file(self._attempt, age)

    def _open(self, age: int) -> BinaryIO | None:
        try:
            fd = files_beneath.open_beneath(self._directory, self._name(age), os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            return None  # not so many files; or a link, which is none of ours
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            return None
        return cast(BinaryIO, open(fd, "rb", buffering=0))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def rewind(self) -> None:
        """To the oldest record there is."""
        self.close()
        self._rest = b""
        for age in range(FILES_MAX - 1, -1, -1):
            self._file = self._open(age)
            if self._file is not None:
                return

    def next_piece(self) -> bytes:
        """Whole records; nothing if there are no more now."""
        while True:
            if self._file is None:
                self.rewind()
                if self._file is None:
                    return b""
            data = self._file.read(PIECE_BYTES)
            if not data:
                if not self._step():
                    return b""
                continue
            whole, line_end, self._rest = (self._rest + data).rpartition(b"\n")
            if line_end:
                return whole + line_end

    def _step(self) -> bool:
        """At the end of a file: on to the one after it, if it was rotated away."""
        if self._file is None:
            return False
        here = os.fstat(self._file.fileno())
        if self._file.tell() > here.st_size:  # the writer took back a record that did not fit on the disk
            self._file.seek(here.st_size)
            self._rest = b""
        for age in range(FILES_MAX):
            try:
                there = os.stat(self._name(age), dir_fd=self._directory, follow_symlinks=False)
                if os.path.samestat(here, there):
                    break
            except FileNotFoundError:
                continue
        else:
            self.rewind()  # rotated out of existence: what followed it and still is there
            return self._file is not None
        if age == 0:
            return False
        following = self._open(age - 1)
        if following is None:
            return False
        if os.path.samestat(os.fstat(following.fileno()), here):  # rotated at this very moment: look again
            following.close()
            return True
        if (data := self._file.read(PIECE_BYTES)) != b"":  # printed between the look and the rotation
            following.close()
            self._file.seek(-len(data), os.SEEK_CUR)
            return True
        self.close()
        self._file, self._rest = following, b""
        return True

    def skip_to_tail(self, lines: int) -> None:
        """So that the last `lines` lines follow. Reads up to all of the log: not for the loop."""
        self.close()
        self._rest = b""
        # All at once, so that a rotation meanwhile makes none of them count twice.
        newest_first = [file for age in range(FILES_MAX) if (file := self._open(age)) is not None]
        missing = max(lines, 0)
        chosen: BinaryIO | None = None
        for file in newest_first:
            chosen = file
            ends = _last_line_ends(file, missing + 1)
            if len(ends) > missing:
                file.seek(ends[0])
                break
            missing -= len(ends)
            file.seek(0)
        for each in newest_first:
            if each is not chosen:
                each.close()
        self._file = chosen


def _last_line_ends(file: BinaryIO, count: int) -> deque[int]:
    """Where the last lines (not records) of a file end."""
    ends: deque[int] = deque(maxlen=count)
    place = 0
    with open(file.fileno(), "rb", closefd=False) as buffered:
        for record in buffered:
            place += len(record)
            if record[_FLAG_AT : _FLAG_AT + 1] == b"F" and record.endswith(b"\n"):
                ends.append(place)
    return ends

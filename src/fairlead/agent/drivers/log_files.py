"""A run's log: where its files are, how a line looks, and the writer in the supervisor.

    logs/CONTAINER/ATTEMPT.log      what is being written
    logs/CONTAINER/ATTEMPT.log.1    the part before it, .2 the one before that, and so on

A line is `TIME stdout|stderr F|P TEXT`, as the container runtime interface of Kubernetes has it. P says that the line
goes on in the next record of that stream: records are bounded, lines are not. `logs.py` reads them. A disk that takes
no more loses output, never the process: what was lost is counted and told in the log once it can be. Standard library
only.
"""

from __future__ import annotations

import os
import time

from fairlead.agent.drivers import files_beneath

#: bound: processes | text of one record of a log | a further record
TEXT_BYTES_MAX = 16 * 1024  # of one record
#: bound: processes | one file of a log | it is rotated
FILE_BYTES_MAX = 10 * 1024 * 1024
#: bound: processes | files of one run's log | the oldest goes
FILES_MAX = 5  # of one run
#: bound: processes | runs of a container that keep their log | removed
RUNS_KEPT_MAX = 2  # of one container: the newest and the one before
STAMP_LENGTH = len("2026-01-02T03:04:05.123456789Z")
STDOUT, STDERR = b"stdout", b"stderr"


def format_stamp(nanoseconds: int) -> bytes:
    """RFC 3339 with nine digits: text that sorts like the instants."""
    second, nano = divmod(nanoseconds, 10**9)
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
    return f"{whole}.{nano:09d}Z".encode()


def log_file(attempt: int, age: int = 0) -> str:
    return f"{attempt}.log" + (f".{age}" if age else "")


def list_attempts(directory: int) -> list[int]:
    """Runs of a container that have a log, the newest last."""
    names = os.listdir(directory)
    return sorted({int(name.partition(".")[0]) for name in names if name.partition(".")[0].isdigit()})


def forget_old(directory: str, attempt: int) -> None:
    """Before a run starts: only it and the newest before it keep their logs."""
    place = _open_directory(directory)
    try:
        old = [each for each in list_attempts(place) if each < attempt]
        for each in old[: max(len(old) - (RUNS_KEPT_MAX - 1), 0)]:
            for age in range(FILES_MAX):
                try:
                    os.unlink(log_file(each, age), dir_fd=place)
                except FileNotFoundError:
                    pass  # it never grew to so many
    finally:
        os.close(place)


def _open_directory(directory: str) -> int:
    """Made where it is missing, below the working directory, which is the pod's (below / for an absolute one)."""
    if not directory.startswith("/"):
        return files_beneath.make_directories(files_beneath.HERE, directory, 0o700)
    top = os.open("/", files_beneath.DIRECTORY)
    try:
        return files_beneath.make_directories(top, directory, 0o700)
    finally:
        os.close(top)


class LogWriter:
    """Takes what a run prints, piece by piece. Never raises for want of a disk."""

    def __init__(self, directory: str, attempt: int, file_bytes_max: int = FILE_BYTES_MAX) -> None:
        self._directory = directory
        self._attempt = attempt
        self._file_bytes_max = file_bytes_max
        self._place = self._file = -1
        self._size = 0
        self._unfinished = {STDOUT: b"", STDERR: b""}
        self.lost_bytes = 0  # in all
        self._lost_untold = 0
        self._why = ""
        try:
            self._make_room(0)  # so that a run that prints nothing has a log, too
        except OSError:
            pass  # tried again with the first output

    def write(self, stream: bytes, data: bytes) -> None:
        start = format_stamp(time.time_ns()) + b" " + stream
        records: list[bytes] = []
        *lines, rest = (self._unfinished[stream] + data).split(b"\n")
        for line in lines:
            line = _shorten(line, start, records)
            records.append(b"%b F %b\n" % (start, line))
        self._unfinished[stream] = _shorten(rest, start, records)
        self._append(b"".join(records), len(data))

    def close(self) -> None:
        for stream, rest in self._unfinished.items():
            if rest:
                self._append(b"%b %b F %b\n" % (format_stamp(time.time_ns()), stream, rest), len(rest))
                self._unfinished[stream] = b""
        if self._lost_untold:
            self._append(b"", 0)
        for fd in (self._file, self._place):
            if fd >= 0:
                os.close(fd)
        self._file = self._place = -1

    def _append(self, records: bytes, weight: int) -> None:
        if not records and not self._lost_untold:
            return
        told = b""
        if self._lost_untold:
            told = b"%b stderr F fairlead: %d bytes of output were lost: %b\n" % (
                format_stamp(time.time_ns()),
                self._lost_untold,
                self._why.encode(),
            )
        try:
            self._make_room(len(told) + len(records))
            self._write_whole(told + records)
        except OSError as error:
            self.lost_bytes += weight
            self._lost_untold += weight
            self._why = error.strerror or str(error)
        else:
            self._lost_untold = 0

    def _make_room(self, size: int) -> None:
        if self._file < 0:
            if self._place < 0:
                self._place = _open_directory(self._directory)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
            self._file = files_beneath.open_beneath(self._place, log_file(self._attempt), flags, 0o600)
            self._size = os.fstat(self._file).st_size
        if self._size and self._size + size > self._file_bytes_max:
            os.close(self._file)
            self._file = -1
            for age in range(FILES_MAX - 2, -1, -1):
                try:
                    os.rename(
                        log_file(self._attempt, age),
                        log_file(self._attempt, age + 1),
                        src_dir_fd=self._place,
                        dst_dir_fd=self._place,
                    )
                except FileNotFoundError:
                    pass  # not so many yet
            self._make_room(0)

    def _write_whole(self, records: bytes) -> None:
        """A record is there as a whole or not at all: half of one would be read as something else."""
        written = 0
        try:
            while written < len(records):
                written += os.write(self._file, records[written:])
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += written


def _shorten(line: bytes, start: bytes, records: list[bytes]) -> bytes:
    """Turn all of a line but its end into records of bounded length."""
    while len(line) > TEXT_BYTES_MAX:
        records.append(b"%b P %b\n" % (start, line[:TEXT_BYTES_MAX]))
        line = line[TEXT_BYTES_MAX:]
    return line

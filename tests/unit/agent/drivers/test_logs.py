"""What a run printed: written in bounded records and files, read back by every option of `kubectl logs`."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.drivers.log_files import (
    FILES_MAX,
    STDERR,
    STDOUT,
    TEXT_BYTES_MAX,
    LogWriter,
    forget_old,
    list_attempts,
)
from fairlead.agent.drivers.logs import LogOptions, read

RECORD = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (stdout|stderr) [FP] [^\n]*\n")


def printed(directory: Path, *pieces: bytes, attempt: int = 0, file_bytes_max: int = 1 << 20) -> None:
    writer = LogWriter(str(directory), attempt, file_bytes_max)
    for piece in pieces:
        writer.write(STDOUT, piece)
    writer.close()


def opening(directory: Path) -> Callable[[], int]:
    return lambda: os.open(directory, os.O_RDONLY)


async def _collect(directory: Path, wanted: LogOptions) -> bytes:
    return b"".join([piece async for piece in read(opening(directory), wanted, lambda attempt: False)])


def shown(directory: Path, **options: Any) -> bytes:
    return asyncio.run(_collect(directory, LogOptions(**options)))


def records(directory: Path) -> list[bytes]:
    names = sorted(
        directory.iterdir(), key=lambda path: -int(path.suffix[1:]) if path.suffix != ".log" else 0
    )
    return b"".join(path.read_bytes() for path in names).splitlines(keepends=True)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((b"one\ntwo\n",), b"one\ntwo\n"),
        ((b"o", b"ne\nt", b"wo"), b"one\ntwo\n"),  # the end of a run ends its last line
        ((b"\n\n",), b"\n\n"),
        ((b"a\0b\xff\n",), b"a\0b\xff\n"),
        ((b"x" * 100_000 + b"\ny\n",), b"x" * 100_000 + b"\ny\n"),
        ((), b""),
    ],
)
def test_what_was_printed_is_read_back(tmp_path: Path, pieces: tuple[bytes, ...], text: bytes) -> None:
    printed(tmp_path, *pieces)
    assert shown(tmp_path) == text
    for record in records(tmp_path):
        assert RECORD.fullmatch(record), record
        assert len(record) <= TEXT_BYTES_MAX + 64


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(100, 600))
def test_any_output_in_any_pieces_is_read_back_up_to_rotation(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], file_bytes_max: int
) -> None:
    directory = tmp_path_factory.mktemp("log")
    printed(directory, *pieces, file_bytes_max=file_bytes_max)
    whole = b"".join(pieces)
    whole += b"" if not whole or whole.endswith(b"\n") else b"\n"
    got = shown(directory)
    assert whole.endswith(got)
    if len(list(directory.iterdir())) < FILES_MAX:
        assert got == whole


def test_streams_are_told_apart_and_joined_by_line(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path), 0)
    writer.write(STDOUT, b"half of ")
    writer.write(STDERR, b"error\n")
    writer.write(STDOUT, b"a line\n")
    writer.close()
    assert shown(tmp_path) == b"error\nhalf of a line\n"
    assert [record.split(b" ")[1:3] for record in records(tmp_path)] == [[b"stderr", b"F"], [b"stdout", b"F"]]


def test_files_are_bounded_in_size_and_number(tmp_path: Path) -> None:
    printed(tmp_path, *(b"%04d\n" % number for number in range(1000)), file_bytes_max=1000)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["0.log", *(f"0.log.{age}" for age in range(1, FILES_MAX))]
    assert all(path.stat().st_size <= 1000 for path in tmp_path.iterdir())
    assert shown(tmp_path).endswith(b"0998\n0999\n")
    lines = [int(line) for line in shown(tmp_path).split()]
    assert lines == list(range(lines[0], 1000))


@pytest.mark.parametrize("lines", [0, 1, 2, 19, 20, 21, 60, 1000])
def test_a_tail_spans_files_and_counts_lines_not_records(tmp_path: Path, lines: int) -> None:
    text = [b"%03d" % number + b"x" * (40_000 if number % 7 == 0 else 0) for number in range(60)]
    printed(tmp_path, *(line + b"\n" for line in text), file_bytes_max=200_000)
    everything = shown(tmp_path).splitlines()
    assert shown(tmp_path, tail_lines=lines).splitlines() == (everything[-lines:] if lines else [])


def test_times_since_and_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_700_000_000 * 10**9]
    monkeypatch.setattr(time, "time_ns", lambda: now[0])
    writer = LogWriter(str(tmp_path), 0)
    for word in (b"one", b"two" + b"x" * 20_000, b"three"):
        writer.write(STDOUT, word + b"\n")
        now[0] += 10**9 // 2
    writer.close()
    stamped = shown(tmp_path, timestamps=True).splitlines()
    assert [line[:30] for line in stamped] == [
        b"2023-11-14T22:13:20.000000000Z",
        b"2023-11-14T22:13:20.500000000Z",
        b"2023-11-14T22:13:21.000000000Z",
    ]
    assert stamped[1][30:] == b" two" + b"x" * 20_000
    assert shown(tmp_path, since=1_700_000_000.75) == b"three\n"
    assert shown(tmp_path, since=1_700_000_009.0) == b""
    assert shown(tmp_path, limit_bytes=6) == b"one\ntw"
    assert shown(tmp_path, limit_bytes=0) == b""


def test_the_newest_two_runs_keep_their_logs(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="nothing was printed yet"):
        shown(tmp_path)
    for attempt in (0, 1, 5):
        forget_old(str(tmp_path), attempt)
        printed(tmp_path, b"%d\n" % attempt, attempt=attempt)
    assert list_attempts(opening(tmp_path)()) == [1, 5]
    assert (shown(tmp_path), shown(tmp_path, previous=True)) == (b"5\n", b"1\n")
    printed(tmp_path / "other", b"")
    with pytest.raises(LookupError, match="no previous run"):
        shown(tmp_path / "other", previous=True)


def test_following_sees_everything_through_rotations_and_ends_with_the_run(tmp_path: Path) -> None:
    async def scenario() -> bytes:
        writer = LogWriter(str(tmp_path), 0, 2000)
        running = True
        got = bytearray()

        async def follow() -> None:
            async for piece in read(opening(tmp_path), LogOptions(follow=True), lambda attempt: running):
                got.extend(piece)

        following = asyncio.create_task(follow())
        for number in range(300):
            writer.write(STDOUT, b"%04d\n" % number)
            if number % 100 == 99:
                while not got.endswith(b"%04d\n" % number):
                    await asyncio.sleep(0.01)
        writer.close()
        running = False
        await following
        return bytes(got)

    assert asyncio.run(scenario()) == b"".join(b"%04d\n" % number for number in range(300))


def test_a_disk_that_takes_no_more_is_counted_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = LogWriter(str(tmp_path), 0)
    writer.write(STDOUT, b"before\n")
    real, room = os.write, [25]

    def full(file: int, data: bytes) -> int:
        """Takes a part, then nothing: as a disk does that runs full."""
        taken = min(room[0], len(data))
        room[0] -= taken
        if not taken:
            raise OSError(28, "No space left on device")
        return real(file, data[:taken])

    monkeypatch.setattr(os, "write", full)
    for _ in range(3):
        writer.write(STDOUT, b"lost\n")
    assert writer.lost_bytes == 15
    assert shown(tmp_path) == b"before\n"
    room[0] = 1 << 20
    writer.write(STDOUT, b"after\n")
    writer.write(STDOUT, b"more\n")
    writer.close()
    told = b"fairlead: 15 bytes of output were lost: No space left on device\n"
    assert shown(tmp_path) == b"before\n" + told + b"after\nmore\n"

"""The data directory: one process at a time, one known format, and errors that say what to do."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.core.errors import DataDirectoryBusy, DataDirectoryError, FormatError
from fairlead.runtime.data import directory as datadir
from fairlead.runtime.data.directory import open_data_directory

NOBODY = 65534


def test_it_is_made_for_its_owner_only_and_holds_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "data"
    with open_data_directory(path) as directory:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert (path / "FORMAT").read_text() == "3\n"
        journal = directory.journal()
        assert journal.recover().revision == 0
        journal.close()
        assert directory.store_path.exists()


def test_a_second_opening_is_told_who_has_it_and_the_next_works_after_close(tmp_path: Path) -> None:
    directory = open_data_directory(tmp_path)
    with pytest.raises(DataDirectoryBusy, match=f"in use by process {os.getpid()}; stop it first"):
        open_data_directory(tmp_path)
    directory.close()
    directory.close()
    open_data_directory(tmp_path).close()


def test_a_second_process_gets_a_clear_error_and_a_killed_one_leaves_no_lock(tmp_path: Path) -> None:
    script = (
        "import sys; from fairlead.runtime.data.directory import open_data_directory;"
        "held = open_data_directory(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(DataDirectoryBusy, match=f"process {process.pid}"):
            open_data_directory(tmp_path)
        process.kill()
        process.wait()
    open_data_directory(tmp_path).close()


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text("7\n")
    with pytest.raises(FormatError, match=r"has format 7, written by a newer Fairlead.*upgrade Fairlead"):
        open_data_directory(tmp_path)
    assert (tmp_path / "FORMAT").read_text() == "7\n"
    (tmp_path / "FORMAT").write_text("2\n")
    open_data_directory(tmp_path).close()


def test_an_older_format_is_upgraded_step_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datadir, "FORMAT", 3)
    (tmp_path / "FORMAT").write_text("1\n")
    steps: list[str] = []
    upgrades = {
        1: lambda path: steps.append(f"1 at {(path / 'FORMAT').read_text().strip()}"),
        2: lambda path: steps.append(f"2 at {(path / 'FORMAT').read_text().strip()}"),
    }
    open_data_directory(tmp_path, upgrades).close()
    assert steps == ["1 at 1", "2 at 2"]
    assert (tmp_path / "FORMAT").read_text() == "3\n"


def test_an_older_format_without_a_way_up_is_refused(tmp_path: Path) -> None:
    (tmp_path / "FORMAT").write_text("0\n")
    with pytest.raises(FormatError, match="format 0, which this Fairlead can no longer upgrade"):
        open_data_directory(tmp_path)


@pytest.mark.parametrize("content", [b"", b"one", b"-1", b"\xff\xfe", "²".encode()])
def test_an_unreadable_format_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "FORMAT").write_bytes(content)
    with pytest.raises(DataDirectoryError, match="not a version number"):
        open_data_directory(tmp_path)


def test_a_store_without_a_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"whatever")
    with pytest.raises(DataDirectoryError, match="FORMAT is missing"):
        open_data_directory(tmp_path)


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(DataDirectoryError, match="is not a directory"):
            open_data_directory(path)


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Root may write everywhere, so become nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_directory_is_named_with_the_way_out(request: pytest.FixtureRequest) -> None:
    with tempfile.TemporaryDirectory() as made:
        path = Path(made)
        path.chmod(0o555)
        request.getfixturevalue("unprivileged")
        for target in (path, path / "below"):
            with pytest.raises(DataDirectoryError, match=r"cannot be written.*--data-dir") as caught:
                open_data_directory(target)
            assert str(target) in str(caught.value)
        if os.getuid() == 0:
            os.seteuid(0)
        path.chmod(0o755)


@pytest.mark.parametrize(
    ("number", "says"),
    [(errno.ENOSPC, "no space left"), (errno.EROFS, "cannot be written"), (errno.EIO, "cannot be used")],
)
def test_a_disk_that_refuses_at_the_start_is_explained_and_nothing_stays_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, says: str
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", refuse)
        with pytest.raises(DataDirectoryError, match=says):
            open_data_directory(tmp_path)
    open_data_directory(tmp_path).close()

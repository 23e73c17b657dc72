"""Files under a directory, opened without links: with openat2 and, where the kernel has none, one step after the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.agent.drivers import files_beneath


@pytest.fixture(params=["openat2", "steps"])
def base(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(files_beneath._Kernel, "has_openat2", request.param == "openat2")
    (tmp_path / "base/in").mkdir(parents=True)
    (tmp_path / "base/in/file").write_text("inside")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/file").write_text("outside")
    fd = os.open(tmp_path / "base", os.O_RDONLY)
    yield fd
    os.close(fd)


def test_what_is_there_is_read_written_and_removed(base: int, tmp_path: Path) -> None:
    assert files_beneath.read_file(base, "in/file") == b"inside"
    files_beneath.write_new(base, "new", b"content", 0o640)
    assert (tmp_path / "base/new").stat().st_mode & 0o777 == 0o640
    os.close(files_beneath.make_directories(base, "a//b/./c", 0o711))
    assert (tmp_path / "base/a/b/c").stat().st_mode & 0o777 == 0o711
    for name in ("a", "in", "new", "none"):
        files_beneath.remove_tree(base, name)
    assert os.listdir(base) == []


@pytest.mark.parametrize(
    "path", ["link/file", "in/link", "in/deep/../../link", "../out/file", "/etc/passwd", "absolute"]
)
def test_nothing_leads_out(base: int, tmp_path: Path, path: str) -> None:
    top = tmp_path / "base"
    (top / "link").symlink_to("../out")
    (top / "in/link").symlink_to("../../out/file")
    (top / "absolute").symlink_to(tmp_path / "out/file")
    (top / "in/deep").mkdir()
    with pytest.raises(OSError):
        files_beneath.read_file(base, path)
    with pytest.raises(OSError):
        os.close(files_beneath.open_beneath(base, path, os.O_PATH))
    with pytest.raises(OSError):
        os.close(files_beneath.open_beneath(base, path, os.O_WRONLY | os.O_CREAT, 0o600))


@pytest.mark.parametrize("make", [os.symlink, os.link])
def test_a_new_file_is_not_written_through_an_old_name(base: int, tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path / "out/file", tmp_path / "base/name")
    files_beneath.write_new(base, "name", b"ours")
    assert (tmp_path / "out/file").read_text() == "outside"
    assert files_beneath.read_file(base, "name") == b"ours"


def test_pipes_are_not_waited_for(base: int, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "base/pipe")
    with pytest.raises(OSError):
        files_beneath.read_file(base, "pipe")


def test_a_directory_that_is_swapped_for_a_link_again_and_again_never_leads_out(
    base: int, tmp_path: Path
) -> None:
    """A race: whatever is seen of the path, it is what lies inside, or nothing."""
    top = tmp_path / "base"
    (top / "link").symlink_to(tmp_path / "out")
    swapping = threading.Event()

    def swap() -> None:
        while not swapping.is_set():
            os.rename(top / "in", top / "aside")
            os.rename(top / "link", top / "in")
            os.rename(top / "in", top / "link")
            os.rename(top / "aside", top / "in")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = set()
        for _ in range(3000):
            try:
                seen.add(files_beneath.read_file(base, "in/file"))
            except OSError:
                continue
            os.close(files_beneath.open_beneath(base, ".", files_beneath.DIRECTORY))
    finally:
        swapping.set()
        thread.join()
    assert seen <= {b"inside"}


def test_a_tree_that_its_owner_closed_is_removed(base: int, tmp_path: Path) -> None:
    deep = tmp_path / "base/in/a/b"
    deep.mkdir(parents=True)
    (deep / "file").touch()
    (tmp_path / "base/in/.1").mkdir()
    for path in (deep, deep.parent):
        path.chmod(0)
    files_beneath.remove_tree(base, "in")
    assert os.listdir(base) == []

"""A pod's directory: volumes swapped all at once, mounts as links, names that cannot escape."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.contract import ContainerRun, Mount, Open, Volume
from fairlead.agent.drivers import directories
from fairlead.agent.drivers.directories import PodDirectory, tidy

FILES = Volume("files", (("a", b"one", 0o644), ("deep/b", b"two", 0o400)))


def opened(parent: Path, *volumes: Volume) -> PodDirectory:
    pod = PodDirectory(parent, "uid-1")
    pod.make(Open("uid-1", "default", "web", "127.128.0.1", volumes, 0.0), None)
    return pod


def run(*mounts: Mount) -> ContainerRun:
    return ContainerRun("main", 0, ("true",), (), mounts=mounts)


def content(directory: Path) -> dict[str, str]:
    return {
        path.relative_to(directory).as_posix(): path.read_text()
        for path in directory.rglob("*")
        if path.is_file() and not path.relative_to(directory).as_posix().startswith("..")
    } | {
        f"{link.name}/{path.relative_to(link).as_posix()}": path.read_text()
        for link in directory.iterdir()
        if link.is_symlink() and link.is_dir() and link.name != "..data"
        for path in link.rglob("*")
        if path.is_file()
    }


def test_volumes_are_files_with_their_modes_and_are_swapped_whole(tmp_path: Path) -> None:
    pod = opened(tmp_path, FILES)
    place = pod.path / "volumes" / "files"
    assert content(place) == {"a": "one", "deep/b": "two"}
    assert (place / "deep" / "b").stat().st_mode & 0o777 == 0o400
    before = (place / "..data").readlink()
    pod.refresh([FILES])
    assert (place / "..data").readlink() == before, "the same content is no reason to touch it"
    pod.refresh([Volume("files", (("c", b"new", 0o644),))])
    assert content(place) == {"c": "new"}
    assert sorted(path.name for path in place.iterdir()) == ["..2", "..data", "c"]
    pod.refresh([Volume("files", ())])
    assert content(place) == {}


def test_a_refresh_that_fails_leaves_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = opened(tmp_path, FILES)
    place = pod.path / "volumes" / "files"

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError):
        pod.refresh([Volume("files", (("a", b"new", 0o644),))])
    assert content(place) == {"a": "one", "deep/b": "two"}
    assert sorted(path.name for path in place.iterdir()) == ["..1", "..data", "a", "deep"]


def test_a_directory_is_made_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError):
        opened(tmp_path, FILES, Volume("../x", None))
    assert list(tmp_path.iterdir()) == []
    opened(tmp_path, FILES)
    assert tidy(tmp_path) == (["uid-1"], [])


def test_what_a_container_writes_outlives_its_runs_and_what_is_mounted_is_a_link(tmp_path: Path) -> None:
    pod = opened(tmp_path, FILES, Volume("scratch", None))
    mounts = (
        Mount("files", "/etc/app"),
        Mount("scratch", "/data"),
        Mount("scratch", "/logs", "a/b"),
        Mount("files", "/one", "a"),
    )
    for _ in range(2):
        root = pod.root(run(*mounts))
    assert (root / "etc/app/a").read_text() == "one"
    assert (root / "one").read_text() == "one"
    (root / "logs" / "x").write_text("kept")
    assert (root / "data/a/b/x").read_text() == "kept"
    pod.refresh([Volume("scratch", None)])
    assert (pod.root(run(*mounts)) / "logs" / "x").read_text() == "kept"


def test_a_mount_inside_another_comes_after_it_and_stays_when_that_gets_new_content(tmp_path: Path) -> None:
    pod = opened(tmp_path, FILES, Volume("scratch", None), Volume("outer", None))
    mounts = (Mount("scratch", "/etc//app/own/"), Mount("files", "/etc/app"), Mount("outer", "/etc"))
    root = pod.root(run(*mounts))
    (root / "etc/app/own/x").write_text("mine")
    pod.refresh([Volume("files", (("c", b"new", 0o644),))])
    assert (root / "etc/app/own/x").read_text() == "mine"
    assert sorted(path.name for path in (root / "etc/app/").iterdir()) == ["..2", "..data", "c", "own"]
    assert pod.root(run(*mounts)) == root


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        (Mount("none", "/x"), "there is no volume 'none'"),
        (Mount("files", "/../x"), "mountPath '/../x' must not contain '..'"),
        (Mount("files", "/"), "mountPath must not be /"),
        (Mount("files", "/x", "../../.."), "subPath '../../..' must not contain '..'"),
        (Mount("../../x", "/x"), "cannot be the name of a directory"),
    ],
)
def test_mounts_stay_inside(tmp_path: Path, mount: Mount, message: str) -> None:
    pod = opened(tmp_path, FILES)
    with pytest.raises(ValueError) as error:
        pod.root(run(mount))
    assert message in str(error.value)


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/../x"])
def test_files_of_a_volume_stay_inside(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match=r"must not contain '\.\.'"):
        opened(tmp_path, Volume("files", ((path, b"", 0o644),)))


def test_removal_is_at_once_for_whoever_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pod = opened(tmp_path, FILES)
    real = shutil.rmtree

    def interrupted(path: Any, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(directories.shutil, "rmtree", interrupted)
    with pytest.raises(OSError):
        pod.remove()
    assert not pod.exists
    monkeypatch.setattr(directories.shutil, "rmtree", real)
    pod.remove()
    assert list(tmp_path.iterdir()) == []

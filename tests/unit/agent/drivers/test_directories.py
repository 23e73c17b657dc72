"""A pod's directory: volumes swapped all at once, mounts as links, names that cannot escape."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.contract import ContainerRun, Mount, Open, Volume
from fairlead.agent.drivers import files_beneath
from fairlead.agent.drivers.directories import PodDirectory, tidy

FILES = Volume("files", (("a", b"one", 0o644), ("deep/b", b"two", 0o400)))


def opened(parent: Path, *volumes: Volume) -> PodDirectory:
    pod = PodDirectory(parent, "uid-1")
    pod.make(
        Open(
            uid="uid-1", namespace="default", name="web", address="127.128.0.1", volumes=volumes, deadline=0.0
        ),
        None,
    )
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

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files_beneath, "write_new", full)
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
    real = files_beneath.remove_tree
    calls: list[str] = []

    def interrupted(base: int, name: str) -> None:
        calls.append(name)
        if len(calls) > 1:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(files_beneath, "remove_tree", interrupted)
    with pytest.raises(OSError):
        pod.remove()
    assert not pod.exists
    monkeypatch.setattr(files_beneath, "remove_tree", real)
    pod.remove()
    assert list(tmp_path.iterdir()) == []


ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Somebody else's directory, with a file in it."""
    place = tmp_path / "private"
    place.mkdir(0o700)
    (place / "file").write_text("somebody else's")
    return place


@ROOT
def test_a_link_in_the_place_of_tmp_is_not_given_away(tmp_path: Path, private: Path) -> None:
    pod = opened(tmp_path)
    asked = ContainerRun("main", 0, ("true",), (), user=12345)
    root = pod.root(asked)
    assert (root / "tmp").stat().st_uid == 12345
    (root / "tmp").rmdir()
    (root / "tmp").symlink_to(private)
    assert pod.root(asked) == root
    assert (private.stat().st_uid, (private / "file").stat().st_uid) == (os.geteuid(), os.geteuid())


@ROOT
def test_a_link_in_the_place_of_a_root_is_not_given_away(tmp_path: Path, private: Path) -> None:
    pod = opened(tmp_path)
    (pod.path / "roots" / "main").symlink_to(private)
    with pytest.raises(OSError):
        pod.root(ContainerRun("main", 0, ("true",), (), user=12345))
    assert private.stat().st_uid == os.geteuid()


def test_links_in_the_way_of_a_mount_are_not_followed(tmp_path: Path, private: Path) -> None:
    pod = opened(tmp_path, Volume("scratch", None))
    root = pod.root(run())
    (root / "etc").symlink_to(private)
    with pytest.raises(
        ValueError, match="mountPath /etc/app/x leads through something that is not a directory"
    ):
        pod.root(run(Mount("scratch", "/etc/app/x")))
    assert sorted(each.name for each in private.iterdir()) == ["file"]


@pytest.mark.parametrize("sub_path", ["out/made", "out", "in/out/made"])
def test_links_in_a_sub_path_are_not_followed(tmp_path: Path, private: Path, sub_path: str) -> None:
    pod = opened(tmp_path, Volume("scratch", None))
    volume = pod.path / "volumes/scratch"
    (volume / "in").mkdir()
    for place in (volume, volume / "in"):
        (place / "out").symlink_to(private)
    with pytest.raises(ValueError, match="no link is followed there"):
        pod.root(run(Mount("scratch", "/data", sub_path)))
    assert sorted(each.name for each in private.iterdir()) == ["file"]


def test_a_link_in_the_place_of_a_volume_is_not_written_through(tmp_path: Path, private: Path) -> None:
    pod = opened(tmp_path, FILES)
    place = pod.path / "volumes/files"
    place.rename(tmp_path / "aside")
    place.symlink_to(private)
    with pytest.raises(OSError):
        pod.refresh([Volume("files", (("a", b"new", 0o644),))])
    with pytest.raises(OSError):
        pod.root(run(Mount("files", "/data")))
    assert sorted(each.name for each in private.iterdir()) == ["file"]


def test_a_removal_takes_the_links_and_not_where_they_lead(tmp_path: Path, private: Path) -> None:
    pod = opened(tmp_path, Volume("scratch", None))
    volume = pod.path / "volumes/scratch"
    (volume / "link").symlink_to(private)
    (volume / "twin").hardlink_to(private / "file")
    deep = os.open(volume, os.O_RDONLY)
    for _ in range(3000):  # deeper than a stack, and than a path may be long
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    (pod.path / "logs").rmdir()
    (pod.path / "logs").symlink_to(private)
    pod.remove()
    assert not pod.path.exists()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["private"]
    assert (private / "file").read_text() == "somebody else's"


def test_a_link_in_the_place_of_a_pod_is_not_one(tmp_path: Path, private: Path) -> None:
    (private / "pod.json").write_text('{"uid":"x","namespace":"n","name":"n","address":""}')
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods/uid-1").symlink_to(private)
    (tmp_path / "pods/.gone-uid-2").symlink_to(private)
    assert not PodDirectory(tmp_path / "pods", "uid-1").exists
    assert tidy(tmp_path / "pods") == ([], [])
    assert sorted(each.name for each in private.iterdir()) == ["file", "pod.json"]


def test_a_pod_is_closed_to_everybody_else(tmp_path: Path) -> None:
    pod = opened(tmp_path, FILES, Volume("scratch", None))
    status = pod.path.stat()
    assert status.st_mode & 0o007 == 0
    if os.geteuid() == 0:
        other = PodDirectory(tmp_path, "uid-2")
        other.make(
            Open(
                uid="uid-2", namespace="default", name="web", address="127.128.0.2", volumes=(), deadline=0.0
            ),
            None,
        )
        assert 0 not in (status.st_gid, other.path.stat().st_gid)
        assert status.st_gid != other.path.stat().st_gid
    else:
        assert status.st_mode & 0o077 == 0


@ROOT
def test_volumes_belong_to_the_group_that_was_asked_for(tmp_path: Path) -> None:
    pod = PodDirectory(tmp_path, "uid-1")
    secret = Volume("secret", (("deep/key", b"hidden", 0o400),))
    pod.make(
        Open(
            uid="uid-1",
            namespace="default",
            name="web",
            address="",
            volumes=(secret, Volume("scratch", None)),
            deadline=0.0,
            fs_group=4321,
        ),
        None,
    )
    pod.refresh([Volume("secret", (("deep/key", b"new", 0o400),))])
    key, scratch = pod.path / "volumes/secret/deep/key", pod.path / "volumes/scratch"
    assert (key.read_text(), key.stat().st_gid, key.stat().st_mode & 0o777) == ("new", 4321, 0o440)
    assert (scratch.stat().st_gid, scratch.stat().st_mode & 0o7777) == (4321, 0o2777)

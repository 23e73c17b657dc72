"""Backups: one file, complete, checked; nothing is written when anything about it is wrong."""

from __future__ import annotations

import io
import json
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.core.errors import DataDirectoryError, FairleadError, FormatError, UsageError
from fairlead.model.key import Key
from fairlead.runtime.credentials import identity
from fairlead.runtime.data.archive import DATABASE_FILE, restore_backup, write_backup
from fairlead.runtime.data.directory import open_data_directory
from fairlead.store import database_files as database
from fairlead.store.contract import ADDED, Batch, CommittedChange, Entry, Note
from fairlead.store.sqlite import SqliteJournal

NOW = 1_800_000_000.0


def put(journal: SqliteJournal, revision: int, resource: str = "pods") -> None:
    entry = Entry(Key(resource, "default", f"o{revision}"), f"u{revision}", revision, b"{}")
    journal.append(Batch((CommittedChange(ADDED, entry, None),), (Note("audit", b"{}"),), NOW))


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Path, SqliteJournal]]:
    """A data directory whose journal is open, as a server has it."""
    data_dir = tmp_path / "data"
    directory = open_data_directory(data_dir)
    identity.ensure(data_dir, "127.0.0.1", 7443, NOW)
    journal = directory.journal()
    for revision in range(1, 4):
        put(journal, revision)
    put(journal, 4, "deployments.apps")
    yield data_dir, journal
    journal.close()
    directory.close()


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_a_running_server_is_backed_up_and_restored_with_data_and_identity(
    running: tuple[Path, SqliteJournal], tmp_path: Path
) -> None:
    data_dir, journal = running
    file, restored = tmp_path / "b.fairlead", tmp_path / "deep" / "restored"
    manifest = write_backup(data_dir, file, NOW)
    assert (manifest.revision, manifest.objects) == (4, {"deployments.apps": 1, "pods": 3})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    put(journal, 5)  # the server goes on

    assert restore_backup(file, restored) == manifest
    for path in (restored / "identity").iterdir():
        assert path.read_bytes() == (data_dir / "identity" / path.name).read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (restored / "kubeconfig").read_bytes() == (data_dir / "kubeconfig").read_bytes()
    assert stat.S_IMODE(restored.stat().st_mode) == 0o700
    with open_data_directory(restored) as opened:
        copy = opened.journal()
        assert copy.recover().revision == 4
        assert len(copy.notes("audit", 0, 10)) == 4
        copy.close()
    assert names(tmp_path) == {"data", "b.fairlead", "deep"}
    assert names(tmp_path / "deep") == {"restored"}


def test_a_backup_is_restored_into_an_empty_directory_but_into_no_other(
    running: tuple[Path, SqliteJournal], tmp_path: Path
) -> None:
    file, target = tmp_path / "b", tmp_path / "target"
    write_backup(running[0], file, NOW)
    target.mkdir()
    (target / "mine").write_text("precious")
    with pytest.raises(UsageError, match="not empty"):
        restore_backup(file, target)
    (target / "mine").unlink()
    restore_backup(file, target)
    assert DATABASE_FILE in names(target)


def test_a_backup_overwrites_nothing(running: tuple[Path, SqliteJournal], tmp_path: Path) -> None:
    file = tmp_path / "b"
    file.write_text("precious")
    with pytest.raises(UsageError, match="exists already"):
        write_backup(running[0], file, NOW)
    assert file.read_text() == "precious"


def test_what_is_no_data_directory_cannot_be_backed_up(tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryError, match="--data-dir"):
        write_backup(tmp_path, tmp_path / "b", NOW)
    (tmp_path / DATABASE_FILE).write_bytes(b"not a database, but long enough to look like a file of one")
    with pytest.raises(DataDirectoryError, match="holds no FORMAT"):
        write_backup(tmp_path, tmp_path / "b", NOW)
    (tmp_path / "FORMAT").write_text("1")
    with pytest.raises(DataDirectoryError):
        write_backup(tmp_path, tmp_path / "b", NOW)
    assert names(tmp_path) == {DATABASE_FILE, "FORMAT"}


def test_a_place_that_cannot_be_written_is_reported(
    running: tuple[Path, SqliteJournal], tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        write_backup(running[0], tmp_path / "absent" / "b", NOW)


Members = dict[str, bytes]


def unpacked(file: Path) -> Members:
    with tarfile.open(file) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}  # type: ignore[union-attr]


def packed(file: Path, members: Members) -> None:
    with tarfile.open(file, "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


def manifest_with(**changes: Any) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | changes).encode()

    return change


def flip(name: str) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        content = bytearray(members[name])
        content[len(content) // 2] ^= 1
        members[name] = bytes(content)

    return change


def swap_first(members: Members) -> None:
    manifest = members.pop("manifest.json")
    members["manifest.json"] = manifest


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        (flip(DATABASE_FILE), DataDirectoryError, "checksum"),
        (flip("identity/ca.key"), DataDirectoryError, "checksum"),
        (lambda m: m.pop("kubeconfig"), DataDirectoryError, "kubeconfig is missing"),
        (lambda m: m.pop(DATABASE_FILE), DataDirectoryError, "store.db is missing"),
        (lambda m: m.update({"../evil": b""}), DataDirectoryError, "does not tell of"),
        (swap_first, DataDirectoryError, "does not start with a manifest"),
        (lambda m: m.update({"manifest.json": b"{"}), DataDirectoryError, "manifest is unreadable"),
        (manifest_with(files={"../evil": "0"}), DataDirectoryError, "unexpected list of files"),
        (manifest_with(revision=99), DataDirectoryError, "not the one the manifest tells of"),
        (manifest_with(format=2), FormatError, "newer"),
    ],
)
def test_a_tampered_backup_is_refused_and_leaves_nothing_behind(
    running: tuple[Path, SqliteJournal],
    tmp_path: Path,
    change: Callable[[Members], None],
    error: type[FairleadError],
    told: str,
) -> None:
    file = tmp_path / "b"
    write_backup(running[0], file, NOW)
    members = unpacked(file)
    change(members)
    packed(file, members)
    with pytest.raises(error, match=told):
        restore_backup(file, tmp_path / "restored")
    assert names(tmp_path) == {"data", "b"}


def test_a_link_in_a_backup_is_refused(running: tuple[Path, SqliteJournal], tmp_path: Path) -> None:
    file = tmp_path / "b"
    write_backup(running[0], file, NOW)
    members = unpacked(file)
    del members["kubeconfig"]
    packed(file, members)
    with tarfile.open(file, "a") as tar:
        link = tarfile.TarInfo("kubeconfig")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(DataDirectoryError, match="no usable backup"):
        restore_backup(file, tmp_path / "restored")


@pytest.mark.parametrize("kept", [0, 100, 5000, 20_000])
def test_a_torn_backup_is_refused(running: tuple[Path, SqliteJournal], tmp_path: Path, kept: int) -> None:
    file = tmp_path / "b"
    write_backup(running[0], file, NOW)
    content = file.read_bytes()
    assert len(content) > 20_000
    file.write_bytes(content[:kept])
    with pytest.raises(DataDirectoryError, match="no usable backup"):
        restore_backup(file, tmp_path / "restored")
    assert names(tmp_path) == {"data", "b"}


def test_an_absent_backup_is_a_mistake_of_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no backup at"):
        restore_backup(tmp_path / "absent", tmp_path / "restored")
    assert names(tmp_path) == set()


def test_a_database_that_fails_its_check_is_not_kept_as_a_backup(
    running: tuple[Path, SqliteJournal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: str) -> None:
        raise DataDirectoryError("damaged")

    monkeypatch.setattr(database, "read_backup", fails)
    with pytest.raises(DataDirectoryError, match="damaged"):
        write_backup(running[0], tmp_path / "b", NOW)
    assert names(tmp_path) == {"data"}

"""Directories and backups that the release of format 1 left: all of it is there after the upgrade, and checked from then on."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from fairlead.core.errors import DataDirectoryError, FormatError
from fairlead.runtime.data import archive
from fairlead.runtime.data import directory as datadir
from fairlead.runtime.data.directory import open_data_directory
from fairlead.store import schema
from fairlead.store.contract import Retention
from fairlead.store.seal import Seal
from fairlead.store.sqlite import SqliteJournal

FIXTURES = Path(__file__).parents[2] / "fixtures" / "format-1"
EXPECTED: dict[str, Any] = json.loads(lzma.decompress((FIXTURES / "expected.json.xz").read_bytes()))
NAMES = ("data", "killed", "backup")


def unpacked(name: str, target: Path) -> Path:
    """A directory of format 1, as it was left."""
    if name == "backup":
        file = target.with_suffix(".fairlead")
        file.write_bytes(lzma.decompress((FIXTURES / "backup.fairlead.xz").read_bytes()))
        archive.restore_backup(file, target)
    else:
        with tarfile.open(FIXTURES / f"{name}.tar.xz") as content:
            content.extractall(target, filter="data")
    return target


def told(journal: SqliteJournal) -> dict[str, Any]:
    """In the words of the release that wrote `expected.json`."""

    def brief(data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()[:16]

    found = journal.recover()
    assert found.damaged == ()
    assert found.lost == ()
    assert found.reports == ()
    return {
        "revision": found.revision,
        "floors": found.floors,
        "objects": {
            "/".join(each.key): [each.uid, each.revision, each.previous, brief(each.data)]
            for each in found.entries
        },
        "changes": [
            [each.type, "/".join(each.entry.key), each.entry.revision, brief(each.entry.data)]
            for each in journal.changes_after(0, "", 10**6)
        ],
        "notes": {
            stream: [
                [number, note.revision, brief(note.body)]
                for number, _, note in journal.notes(stream, 0, 10**6)
            ]
            for stream in ("audit", "decisions")
        },
    }


def opened(path: Path) -> dict[str, Any]:
    with open_data_directory(path) as directory:
        journal = directory.journal()
        try:
            return told(journal)
        finally:
            journal.close()


@pytest.mark.parametrize("name", NAMES)
def test_all_of_it_is_there_after_the_upgrade_and_after_another_start(name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path / "plane")
    assert (path / "FORMAT").read_text() == "1\n"
    assert opened(path) == EXPECTED[name]
    assert (path / "FORMAT").read_text() == "3\n"
    assert opened(path) == EXPECTED[name]


@pytest.mark.parametrize("name", NAMES)
def test_objects_get_their_digests_by_and_by_and_are_checked_from_then_on(name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path / "plane")
    with open_data_directory(path) as directory:
        journal = directory.journal()
        before = journal.recover()
        journal.compact(0.0, {"": Retention()}, 100)
        assert journal.recover().entries == before.entries
        journal.close()
    connection = apsw.Connection(str(path / "store.db"))
    left = connection.execute("SELECT count(*) FROM objects WHERE digest IS NULL").fetchall()
    assert left == [(0,)]
    revision, menu = connection.execute(
        "SELECT revision, data FROM log WHERE name = 'menu' ORDER BY revision DESC LIMIT 1"
    ).fetchall()[0]
    assert isinstance(menu, bytes)
    connection.execute(
        "UPDATE log SET data = ? WHERE revision = ?", (menu.replace(b"Lauch", b"Lauck"), revision)
    )
    connection.close()
    with open_data_directory(path) as directory:
        journal = directory.journal()
        assert [each.entry.key.name for each in journal.recover().damaged] == ["menu"]
        journal.close()


def test_an_object_of_format_1_that_is_no_json_is_damaged(tmp_path: Path) -> None:
    path = unpacked("data", tmp_path / "plane")
    connection = apsw.Connection(str(path / "store.db"))
    connection.execute("UPDATE log SET data = replace(data, '{', '[') WHERE name = 'menu'")
    connection.execute("UPDATE log SET data = CAST(data AS BLOB) WHERE name = 'menu'")
    connection.close()
    with open_data_directory(path) as directory:
        journal = directory.journal()
        assert [each.entry.key.name for each in journal.recover().damaged] == ["menu"]
        journal.close()


def at_each_statement(path: Path, act: Callable[[int], bool]) -> int:
    """`act(n)` opens a copy of the directory and is stopped at its nth step, until it is not stopped any more."""
    steps = 0
    while act(steps):
        steps += 1
    return steps


def test_a_full_disk_at_any_step_of_the_upgrade_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = unpacked("killed", tmp_path / "original")
    run, write = schema._run, Seal.write

    def act(step: int) -> bool:
        path = tmp_path / "full"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(original, path)
        left = [step]

        def refuse(*_: object) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise apsw.FullError("disk is full")

        def statement_by_statement(connection: apsw.Connection, statements: str) -> None:
            for each in statements.split(";\n"):
                refuse()
                run(connection, each)

        def refuse_then_write(seal: Seal, *given: Any) -> None:
            refuse()
            write(seal, *given)

        stopped = False
        with monkeypatch.context() as patched:
            patched.setattr(schema, "_run", statement_by_statement)
            patched.setattr("fairlead.store.schema.Seal.write", refuse_then_write)
            try:
                opened(path)
            except DataDirectoryError as error:
                stopped = "no space left" in str(error)
        assert opened(path) == EXPECTED["killed"], step
        return stopped

    assert at_each_statement(original, act) >= 9


KILLED = """
import os, signal, sys
from pathlib import Path
left = int(sys.argv[2])
import apsw
def step(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return True
def watched(connection):
    connection.exec_trace = step
apsw.connection_hooks.append(watched)
real_replace, real_fsync = Path.replace, os.fsync
def replace(self, target):
    step(); return real_replace(self, target)
def fsync(descriptor):
    step(); return real_fsync(descriptor)
Path.replace, os.fsync = replace, fsync
from fairlead.runtime.data.directory import open_data_directory
with open_data_directory(Path(sys.argv[1])) as directory:
    directory.journal().close()
"""


@pytest.mark.parametrize("stride", [13, pytest.param(1, marks=pytest.mark.soak)])
def test_a_kill_at_any_step_of_the_upgrade_loses_nothing(stride: int, tmp_path: Path) -> None:
    original = unpacked("killed", tmp_path / "original")
    killed = 0
    for step in range(0, 10_000, stride):
        path = tmp_path / "plane"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(original, path)
        ended = subprocess.run([sys.executable, "-c", KILLED, str(path), str(step)], check=False)
        assert opened(path) == EXPECTED["killed"], step
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL
        killed += 1
    assert killed > 30 // stride


def test_the_start_does_not_wait_for_large_logs(tmp_path: Path) -> None:
    """Counted in rows read, not in seconds: the upgrade looks at no row of a log but the newest."""
    path = unpacked("data", tmp_path / "plane")
    connection = apsw.Connection(str(path / "store.db"))
    read: list[str] = []
    connection.exec_trace = lambda _, statement, bindings: read.append(statement) or True  # type: ignore[func-returns-value]
    schema.upgrade(connection, 1)
    connection.close()
    touching = [
        each.strip() for each in read if "TABLE seal" not in each and (" log" in each or " notes" in each)
    ]
    assert touching == [
        "ALTER TABLE log ADD COLUMN digest INTEGER",
        "ALTER TABLE notes ADD COLUMN digest INTEGER",
        "SELECT max(revision) FROM log",
        "ALTER TABLE notes ADD COLUMN link BLOB",
    ]


def test_an_older_release_refuses_the_new_format_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the older one compares are these numbers, in the directory and in the store, with 1."""
    path = unpacked("data", tmp_path / "plane")
    opened(path)
    assert (path / "FORMAT").read_text() == "3\n"
    monkeypatch.setattr(datadir, "FORMAT", 1)
    monkeypatch.setattr(schema, "FORMAT", 1)
    with pytest.raises(
        FormatError, match="has format 3, written by a newer Fairlead; this one knows up to 1"
    ):
        opened(path)
    (path / "FORMAT").write_text("1\n")
    with pytest.raises(
        FormatError, match="has format 3, written by a newer Fairlead; this one reads up to 1"
    ):
        opened(path)

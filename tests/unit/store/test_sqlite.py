"""The sqlite journal's file: what it refuses to open and how it says so, full disks, backups, two threads."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from fairlead.core.errors import DataDirectoryError, FormatError, OperatorError, UsageError
from fairlead.model.key import Key
from fairlead.store.contract import (
    ADDED,
    MODIFIED,
    Batch,
    CommittedChange,
    Entry,
    JournalError,
    Note,
    Retention,
)
from fairlead.store.database_files import backup, integrity_problems, read_backup
from fairlead.store.sqlite import SqliteJournal


def batch(first: int, count: int = 1, notes: tuple[Note, ...] = (), size: int = 1000) -> Batch:
    changes = []
    for revision in range(first, first + count):
        key = Key("pods", "default", f"pod-{revision}")
        changes.append(CommittedChange(ADDED, Entry(key, f"u{revision}", revision, b"." * size), None))
    return Batch(tuple(changes), notes, 1000.0 + first)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


@pytest.fixture
def filled(path: str) -> str:
    """A closed database with 200 objects."""
    journal = SqliteJournal(path)
    journal.append(batch(1, 200))
    journal.close()
    return path


def test_it_writes_ahead_and_syncs_every_commit(path: str) -> None:
    journal = SqliteJournal(path)
    assert journal._writer.pragma("journal_mode") == "wal"
    assert journal._writer.pragma("synchronous") == 2
    assert journal._writer.pragma("wal_autocheckpoint") == 500
    assert journal._writer.pragma("page_size") == 8192
    assert journal._reader.pragma("query_only") == 1
    journal.close()
    journal.close()


def spoil_not_sqlite(path: Path) -> None:
    path.write_bytes(b"these are the notes of a person, not a database" * 100)


def spoil_foreign(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()


def spoil_truncated(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def spoil_middle(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096 * 4)
        file.write(b"\xff" * 4096 * 20)


def spoil_newer(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 99")
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "error", "says"),
    [
        (spoil_not_sqlite, DataDirectoryError, "is not a Fairlead database"),
        (spoil_foreign, DataDirectoryError, "another program's SQLite database"),
        (spoil_truncated, DataDirectoryError, "is damaged"),
        (spoil_middle, DataDirectoryError, "is damaged"),
        (spoil_newer, FormatError, "format 99, written by a newer Fairlead"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_file_that_cannot_be_trusted_is_refused_with_what_to_do(
    filled: str, spoil: object, error: type[OperatorError], says: str
) -> None:
    spoil(Path(filled))  # type: ignore[operator]
    before = Path(filled).read_bytes()
    with pytest.raises(error, match=says) as caught:
        _open_and_recover(filled)
    message = str(caught.value)
    assert filled in message
    assert "restore" in message or "upgrade" in message
    assert Path(filled).read_bytes() == before, "it was not touched"


def _open_and_recover(path: str) -> None:
    journal = SqliteJournal(path)
    try:
        journal.recover()
    finally:
        journal.close()


def test_a_directory_that_is_not_there_is_an_operators_error(tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryError, match="cannot be opened"):
        SqliteJournal(str(tmp_path / "missing" / "store.db"))


class _Disk(apsw.VFS):
    """The real disk, until it is told to be full or broken."""

    def __init__(self, name: str) -> None:
        self.refuse: type[apsw.Error] | None = None
        super().__init__(name, "")

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> _DiskFile:  # noqa: N802
        return _DiskFile(self, name, flags)


class _DiskFile(apsw.VFSFile):
    def __init__(self, disk: _Disk, name: apsw.URIFilename | str | None, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._disk.refuse:
            raise self._disk.refuse
        super().xWrite(data, offset)


@pytest.fixture
def disk() -> Iterator[_Disk]:
    made = _Disk("refusing")
    yield made
    made.unregister()


@pytest.mark.parametrize(
    ("refusal", "reason"), [(apsw.FullError, "StorageFull"), (apsw.IOError, "StorageFailed")]
)
def test_a_disk_that_refuses_fails_the_append_and_the_next_one_works_when_it_recovers(
    path: str, disk: _Disk, refusal: type[apsw.Error], reason: str
) -> None:
    journal = SqliteJournal(path, vfs="refusing", shared_memory=False)
    journal.append(batch(1, notes=(Note("audit", b"1"),)))
    for _ in range(2):
        disk.refuse = refusal
        with pytest.raises(JournalError) as caught:
            journal.append(batch(2, 64, notes=(Note("audit", b"lost"),)))
        assert caught.value.reason == reason
        disk.refuse = None
        assert journal.recover().revision == 1
    journal.append(batch(2, 64, notes=(Note("audit", b"2"),)))
    assert journal.recover().revision == 65
    assert [note.body for _, _, note in journal.notes("audit", 0, 9)] == [b"1", b"2"]
    assert integrity_problems(journal._reader) == []
    journal.close()


def test_appending_a_revision_twice_fails_and_changes_nothing(path: str) -> None:
    journal = SqliteJournal(path)
    journal.append(batch(1))
    with pytest.raises(JournalError) as caught:
        journal.append(Batch((*batch(2).changes, *batch(1).changes), (), 1.0))
    assert caught.value.reason == "StorageFailed"
    assert journal.recover().revision == 1
    journal.append(batch(2))
    journal.close()


def test_a_batch_of_any_size_is_written_whole(path: str) -> None:
    journal, revision, lines = SqliteJournal(path), 0, 0
    for count in (1, 15, 16, 17, 127, 128, 129, 145, 300):
        notes = tuple([Note("audit", b"%d" % (lines + number)) for number in range(count + 1)])
        journal.append(batch(revision + 1, count, notes=notes, size=10))
        revision, lines = revision + count, lines + len(notes)
    assert sorted(entry.revision for entry in journal.recover().entries) == list(range(1, revision + 1))
    assert sorted(journal.versions(range(1, revision + 1))) == list(range(1, revision + 1))
    assert [note.body for _, _, note in journal.notes("audit", 0, lines + 1)] == [
        b"%d" % line for line in range(lines)
    ]
    journal.close()


def test_batches_of_any_size_are_written_by_few_statements(path: str) -> None:
    """Each is parsed once, and all of them have room among those that are kept."""
    journal = SqliteJournal(path)
    revision, texts = 1, set[str]()

    def seen(_: apsw.Cursor, text: str, __: object) -> bool:
        texts.add(text)
        return True

    journal._writer.exec_trace = seen
    for count in range(1, 129):
        journal.append(batch(revision, count, notes=(Note("audit", b"{}"),) * count, size=1))
        revision += count
    assert len(texts) < journal._writer.cache_stats()["size"]
    journal.close()


def test_several_versions_of_one_object_in_a_batch_leave_the_last(path: str) -> None:
    journal = SqliteJournal(path)
    key = Key("pods", "default", "a")
    versions = [Entry(key, "u", revision, b"%d" % revision, revision - 1) for revision in (1, 2, 3)]
    changes = [
        CommittedChange(ADDED if entry.revision == 1 else MODIFIED, entry, versions[entry.revision - 2])
        for entry in versions
    ]
    journal.append(Batch(tuple(changes), (), 1.0))
    assert journal.recover().entries == (versions[2],)
    assert journal.versions([1, 2, 3, 4]) == {1: versions[0], 2: versions[1], 3: versions[2]}
    journal.close()


def test_a_log_of_notes_is_bounded_and_its_numbers_go_on(path: str) -> None:
    journal = SqliteJournal(path, notes_max=10)
    for first in range(0, 3_000, 100):
        notes = tuple(Note("audit", b"%d" % number) for number in range(first, first + 100))
        journal.append(Batch((), notes, 1.0))
        assert len(journal.notes("audit", 0, 10_000)) <= 10 + 1_024 + 100
    journal.close()
    journal = SqliteJournal(path, notes_max=10)
    journal.append(Batch((), (Note("audit", b"last"),), 2.0))
    kept = journal.notes("audit", 0, 10_000)
    assert kept[-2:] == [(3000, 1.0, Note("audit", b"2999")), (3001, 2.0, Note("audit", b"last"))]
    assert [sequence for sequence, _, _ in kept] == list(range(kept[0][0], 3002))
    journal.close()


def test_a_journal_at_rest_is_not_written_to(path: str) -> None:
    journal = SqliteJournal(path)
    journal.append(batch(1, 20))
    keep = {"": Retention(100.0, 10**9)}
    assert journal.compact(1010.5, keep, 1000) == {"pods": 0}
    before = journal._writer.total_changes()
    for _ in range(5):
        assert journal.compact(1010.5, keep, 1000) == {"pods": 0}
    assert journal._writer.total_changes() == before
    assert journal.compact(1110.5, keep, 1000) == {"pods": 20}
    assert journal._writer.total_changes() > before
    journal.close()


def test_a_backup_of_a_journal_in_use_is_complete_and_restores(path: str, tmp_path: Path) -> None:
    journal = SqliteJournal(path)
    journal.append(batch(1, 100, notes=(Note("audit", b"1"),)))
    copy, target = str(tmp_path / "copy.db"), str(tmp_path / "restored.db")
    backup(path, copy)
    expected = journal.recover()
    journal.append(batch(101))
    with pytest.raises(UsageError, match="exists already"):
        backup(path, copy)
    journal.close()
    Path(copy).chmod(0o400)
    assert read_backup(copy) == expected
    shutil.copyfile(copy, target)
    again = SqliteJournal(target)
    assert again.recover() == expected
    again.append(batch(101))
    assert again.notes("audit", 0, 9) == [(1, 1001.0, Note("audit", b"1"))]
    again.close()
    assert not list(tmp_path.glob("*.partial"))


def test_a_bad_backup_is_named(filled: str, tmp_path: Path) -> None:
    for spoil in (spoil_middle, spoil_foreign, spoil_not_sqlite):
        spoil(Path(filled))
        with pytest.raises(DataDirectoryError, match=r"store\.db"):
            read_backup(filled)
    Path(filled).write_bytes(b"")
    with pytest.raises(DataDirectoryError, match="is empty"):
        read_backup(filled)
    with pytest.raises(UsageError, match="there is no backup"):
        read_backup(str(tmp_path / "none.db"))


def test_history_can_be_read_while_another_thread_appends(path: str) -> None:
    journal = SqliteJournal(path)
    journal.append(batch(1))

    def write() -> None:
        for first in range(2, 402, 8):
            journal.append(batch(first, 8))

    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    while seen < 401:
        changes = journal.changes_after(0, "pods", 1_000)
        revisions = [change.entry.revision for change in changes]
        assert revisions == list(range(1, len(revisions) + 1))
        assert len(revisions) % 8 == 1, "a batch is seen whole"
        assert len(revisions) >= seen
        seen = len(revisions)
    writer.join()
    journal.close()

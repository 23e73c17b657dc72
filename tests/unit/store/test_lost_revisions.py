"""Acknowledged writes that are gone: the start says so, no revision is given out twice, and nobody reads at a lost one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fairlead.runtime.datadir import open_data_directory
from fairlead.runtime.revision_mark import BLOCK, FILE, Mark, mark_doubt, read_mark
from fairlead.store.contract import LostRevision, Recovered
from fairlead.store.machine import Store
from fairlead.store.watch import Hub
from tests.unit.store.rot import fill


def recovered(directory: Path) -> Recovered:
    with open_data_directory(directory) as held:
        journal = held.journal()
        try:
            return journal.recover()
        finally:
            journal.close()


def test_a_log_that_was_removed_is_missed_and_numbering_goes_on_above_the_mark(tmp_path: Path) -> None:
    written = fill(tmp_path / "plane", close=False)
    mark = read_mark(tmp_path / "plane")
    assert mark is not None
    assert mark.promised >= written.revision
    (tmp_path / "plane" / "store.db-wal").unlink()
    found = recovered(tmp_path / "plane")
    assert found.revision == mark.promised + 1
    assert "log is gone" in found.lost[0].why
    again = recovered(tmp_path / "plane")
    assert (again.revision, again.lost) == (found.revision, found.lost), "it is remembered, and reported once"


def test_an_older_database_that_was_put_back_is_noticed(tmp_path: Path) -> None:
    fill(tmp_path / "plane", close=True)
    shutil.copy(tmp_path / "plane" / "store.db", tmp_path / "older.db")
    written = fill(tmp_path / "plane", close=True)
    shutil.copy(tmp_path / "older.db", tmp_path / "plane" / "store.db")
    found = recovered(tmp_path / "plane")
    assert found.revision == written.revision + 1
    assert f"was closed at revision {written.revision}" in found.lost[0].why


def test_reads_and_watches_at_lost_revisions_are_told_to_begin_anew(tmp_path: Path) -> None:
    fill(tmp_path / "plane", close=False)
    (tmp_path / "plane" / "store.db-wal").unlink()
    with open_data_directory(tmp_path / "plane") as held:
        journal = held.journal()
        store = Store(journal.recover(), journal)
        lost = store.lost[0]
        for revision in (lost.after + 1, lost.until - 1):
            with pytest.raises(LostRevision, match="were lost"):
                store.list_at("configmaps", "", revision)
            with pytest.raises(LostRevision, match="were lost"):
                Hub(store).subscribe("configmaps", "", None, revision)
        for revision in (lost.after, lost.until):
            assert store.list_at("configmaps", "", revision) == store.list("configmaps")
            Hub(store).subscribe("configmaps", "", None, revision)
        journal.close()


@pytest.mark.parametrize(
    ("mark", "newest", "doubted"),
    [
        (Mark(1, 100, True), 100, False),
        (Mark(1, 100, True), 99, True),
        (Mark(1, 100, True), 101, True),
        (Mark(2, 100 + BLOCK, False), 100, False),
        (Mark(2, 100 + BLOCK, False), 50, False),  # the batch that it was raised for did not become durable
        (Mark(2, 20_000, False), 20_001, True),
        (Mark(2, 20_000, False), 10_000, True),
        (None, 7, False),
    ],
)
def test_when_a_mark_disagrees(mark: Mark | None, newest: int, doubted: bool) -> None:
    assert bool(mark_doubt(mark, newest)) is doubted


def test_one_torn_copy_of_the_mark_does_not_lose_it(tmp_path: Path) -> None:
    fill(tmp_path / "plane", close=True)
    file = tmp_path / "plane" / FILE
    whole = read_mark(tmp_path / "plane")
    assert whole is not None
    content = bytearray(file.read_bytes())
    at = (whole.number + 1) % 2 * 512
    content[at : at + 20] = b"\xff" * 20
    file.write_bytes(content)
    assert read_mark(tmp_path / "plane") == whole

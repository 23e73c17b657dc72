"""Acknowledged writes that are gone: the start says so, no revision is given out twice, and nobody reads at a lost one."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import apsw
import pytest

from fairlead.runtime.data.directory import open_data_directory
from fairlead.runtime.data.revision_mark import (
    BLOCK,
    FILE,
    Mark,
    RevisionMark,
    mark_doubt,
    read_acknowledged,
    read_mark,
)
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
    assert bool(mark_doubt(mark, newest, 0)) is doubted


def test_changes_that_are_missing_from_the_log_are_missed(tmp_path: Path) -> None:
    """A row that is gone has no digest that could tell: a page that counts fewer rows than it has hides some."""
    written = fill(tmp_path / "plane", close=True)
    hidden = written.changes[20].entry.revision
    connection = apsw.Connection(str(tmp_path / "plane" / "store.db"))
    connection.execute("DELETE FROM log WHERE revision = ?", (hidden,))
    connection.close()
    with open_data_directory(tmp_path / "plane") as held:
        journal = held.journal()
        journal.recover()
        assert journal.changes_after(0, "", hidden - 1)
        with pytest.raises(LostRevision, match="are missing from the store"):
            journal.changes_after(0, "", 1000)
        with pytest.raises(LostRevision, match="are missing from the store"):
            journal.changes_after(hidden - 1, "", 1)
        assert journal.changes_after(hidden, "", 1)
        journal.close()


def test_revisions_that_were_lost_before_are_no_gap(tmp_path: Path) -> None:
    fill(tmp_path / "plane", close=False)
    (tmp_path / "plane" / "store.db-wal").unlink()
    fill(tmp_path / "plane", close=True)
    with open_data_directory(tmp_path / "plane") as held:
        journal = held.journal()
        lost = journal.recover().lost[0]
        revisions = [each.entry.revision for each in journal.changes_after(0, "", 1000)]
        assert lost.until + 1 in revisions
        assert [each.entry.revision for each in journal.changes_after(lost.after, "", 1)] == [lost.until + 1]
        journal.close()


def last_transaction(log: bytes) -> range:
    """The bytes of the frames after the last but one commit."""
    page = int.from_bytes(log[8:12], "big")
    starts = range(32, len(log) - page - 23, page + 24)
    commits = [at for at in starts if int.from_bytes(log[at + 4 : at + 8], "big")]
    return range(commits[-2] + page + 24, len(log))


@pytest.mark.parametrize("gone", [(), ("store.db-shm",)])
def test_a_flip_in_the_last_transaction_is_no_power_cut(gone: tuple[str, ...], tmp_path: Path) -> None:
    """It was acknowledged, and the mark says so."""
    written = fill(tmp_path / "killed", close=False)
    log = (tmp_path / "killed" / "store.db-wal").read_bytes()
    ours = last_transaction(log)
    chance = random.Random(5)
    for turn in range(8):
        path = tmp_path / f"plane-{turn}"
        shutil.copytree(tmp_path / "killed", path)
        for name in gone:
            (path / name).unlink()
        flipped = bytearray(log)
        flipped[chance.choice(ours)] ^= 1 << chance.randrange(8)
        (path / "store.db-wal").write_bytes(flipped)
        found = recovered(path)
        assert found.revision > written.revision, "a revision that was acknowledged would be given out again"
        assert found.lost[0].after < written.revision
    assert gone == () or f"revision {written.revision} was acknowledged" in found.lost[0].why


@pytest.mark.parametrize("damage", ["none", "torn", "cut"])
def test_a_transaction_that_was_cut_off_while_it_was_written_raises_no_alarm(
    damage: str, tmp_path: Path
) -> None:
    """Its revision was not acknowledged: the mark is that of the one before."""
    written = fill(tmp_path / "plane", close=False)
    log = tmp_path / "plane" / "store.db-wal"
    content = log.read_bytes()
    ours = last_transaction(content)
    (tmp_path / "plane" / "store.db-shm").unlink()
    mark = RevisionMark(tmp_path / "plane")
    mark.acknowledge(written.revision - 1)
    if damage == "torn":
        log.write_bytes(content[: ours.start + 100] + bytes(len(ours) - 100))
    elif damage == "cut":
        log.write_bytes(content[: ours.start + 100])
    found = recovered(tmp_path / "plane")
    assert found.lost == ()
    assert found.revision == written.revision - (damage != "none")


@pytest.mark.parametrize("content", [b"", b"\0" * 30, b"00000000000000000007 00000000\n", b"7 \xff\n"])
def test_an_acknowledgement_that_is_damaged_says_nothing(content: bytes, tmp_path: Path) -> None:
    fill(tmp_path / "plane", close=True)
    file = tmp_path / "plane" / FILE
    file.write_bytes(file.read_bytes()[:1024] + content)
    assert read_acknowledged(tmp_path / "plane") == 0
    assert recovered(tmp_path / "plane").lost == ()


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


def test_numbering_goes_on_above_what_was_acknowledged_though_the_mark_knows_of_less(tmp_path: Path) -> None:
    """A disk that said it had synced the mark, and had not: the word of what was acknowledged is the newer one."""
    written = fill(tmp_path, close=True)
    mark = RevisionMark(tmp_path)
    mark.acknowledge(written.revision + 7)
    os.close(mark._descriptor)
    found = recovered(tmp_path)
    assert found.lost[0].until == found.revision == written.revision + 8
    assert recovered(tmp_path).lost == found.lost, "and it is told once"

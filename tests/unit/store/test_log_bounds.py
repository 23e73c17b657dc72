"""Each log keeps what its bound allows: bytes, age, lines. What goes leaves a whole chain and a seal that holds."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from fairlead.store import bounded_logs
from fairlead.store.checking import check
from fairlead.store.contract import Batch, Note, Retention
from fairlead.store.log_chain import TRIMMED
from fairlead.store.log_verifying import follow_all
from fairlead.store.retention import LogBound
from fairlead.store.schema import FORMAT
from fairlead.store.sqlite import SqliteJournal

BODY = b'{"line":%05d}'  # 14 bytes
KEEP: dict[str, Retention] = {}


def opened(path: Path, **logs: LogBound) -> SqliteJournal:
    journal = SqliteJournal(str(path), logs=logs)
    journal.recover()
    return journal


def write(
    journal: SqliteJournal, count: int, first: int = 1, stream: str = "decisions", at: float = 0.0
) -> None:
    for number in range(first, first + count):
        journal.append(Batch((), (Note(stream, BODY % number),), at or float(number)))


def kept(journal: SqliteJournal, stream: str = "decisions") -> list[int]:
    return [sequence for sequence, _, _ in journal.notes(stream, 0, 10_000)]


def whole(path: Path, stream: str = "decisions") -> None:
    """The chain holds, and so does the seal."""
    connection = apsw.Connection(str(path))
    try:
        found = follow_all(connection, FORMAT, {stream: {}})[stream]
        assert found.whole, found.broken
        assert found.chain is not None
        assert found.chain.why == TRIMMED
        assert check(connection, FORMAT).problems == []
    finally:
        connection.close()


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_logs, "_SLACK", 4)


def test_the_oldest_go_when_there_are_too_many_bytes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    journal = opened(path, decisions=LogBound(bytes_max=20 * 14))
    write(journal, 300)
    found = kept(journal)
    assert found == list(range(found[0], 301)), "without a gap, up to the newest"
    assert 15 <= len(found) <= 20
    write(journal, 30, stream="audit")
    assert len(kept(journal, "audit")) == 30, "it has another bound"
    journal.close()
    whole(path)


def test_bytes_that_were_there_before_are_counted_a_stretch_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_logs, "_COUNTED", 10)
    path = tmp_path / "store.db"
    journal = opened(path)
    write(journal, 50)
    journal.close()
    journal = opened(path, decisions=LogBound(bytes_max=25 * 14))
    write(journal, 1, 51)
    assert len(kept(journal)) == 51, "nobody has counted them yet"
    journal.compact(60.0, KEEP, 4)
    journal.compact(60.0, KEEP, 4)
    assert len(kept(journal)) == 51
    journal.compact(60.0, KEEP, 4)
    assert len(kept(journal)) == 47, "31 are counted: the oldest go, few at a time"
    for _ in range(12):
        journal.compact(60.0, KEEP, 4)
    assert 21 <= len(kept(journal)) <= 25
    journal.close()
    whole(path)


def test_what_is_too_old_goes_though_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    journal = opened(path, decisions=LogBound(seconds=100.0))
    write(journal, 50)
    journal.compact(120.0, KEEP, 5)
    assert kept(journal)[0] == 6, "at most so many at once"
    for _ in range(6):
        journal.compact(120.0, KEEP, 5)
    assert kept(journal)[0] == 20, "written at 20: a hundred seconds ago"
    for _ in range(20):
        journal.compact(1000.0, KEEP, 5)
    assert kept(journal) == [50], "the newest stays: the chain ends with it"
    write(journal, 2, 51)
    assert kept(journal) == [50, 51, 52]
    journal.close()
    whole(path)
    assert kept(opened(path)) == [50, 51, 52]


def test_a_compaction_that_fails_trims_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    journal = opened(path, decisions=LogBound(seconds=10.0))
    write(journal, 20)
    committed = bounded_logs.Lines._write

    def failing(self: bounded_logs.Lines, changed: object) -> None:
        raise apsw.FullError("no room")

    monkeypatch.setattr(bounded_logs.Lines, "_write", failing)
    with pytest.raises(Exception, match="no room"):
        journal.compact(100.0, KEEP, 100)
    assert len(kept(journal)) == 20
    monkeypatch.setattr(bounded_logs.Lines, "_write", committed)
    write(journal, 1, 21, at=95.0)
    journal.compact(100.0, KEEP, 100)
    assert kept(journal) == [21]
    journal.close()
    whole(path)


def test_a_log_that_is_older_than_chains_is_not_taken_for_recorded(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    journal = opened(path)
    write(journal, 3)
    journal.close()
    connection = apsw.Connection(str(path))
    connection.execute("ALTER TABLE notes DROP COLUMN link; DROP TABLE chains; PRAGMA user_version = 2")
    connection.close()
    journal = opened(path)
    journal.compact(10.0, KEEP, 10)
    write(journal, 1, stream="audit")
    write(journal, 2, 4)
    journal.close()
    connection = apsw.Connection(str(path))
    found = follow_all(connection, FORMAT, {"decisions": {}})["decisions"]
    connection.close()
    assert found.whole, found.broken
    assert (found.older, found.lines) == (3, 2)


def test_another_bound_holds_from_then_on(tmp_path: Path) -> None:
    journal = opened(tmp_path / "store.db", decisions=LogBound(bytes_max=100 * 14))
    write(journal, 80)
    journal.keep("decisions", LogBound(bytes_max=20 * 14))
    for _ in range(20):
        journal.compact(90.0, KEEP, 10)
    assert 10 <= len(kept(journal)) <= 20

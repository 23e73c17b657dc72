"""The chain of a log's lines: every removal, edit and addition shows, where it happened; retention, upgrades and
restarts leave a chain that holds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from fairlead.runtime.data.checking import check_directory, follow_chains
from fairlead.runtime.data.directory import open_data_directory
from fairlead.store import bounded_logs
from fairlead.store.contract import Batch, JournalError, Note
from fairlead.store.database_files import backup
from fairlead.store.log_chain import REPAIRED, TRIMMED, UPGRADED, Chain, Followed, link, verify
from fairlead.store.log_verifying import follow_all
from fairlead.store.schema import FORMAT
from fairlead.store.sqlite import SqliteJournal


def written(path: Path, count: int, first: int = 1, stream: str = "audit", notes_max: int = 100_000) -> None:
    journal = SqliteJournal(str(path), notes_max=notes_max)
    journal.recover()
    for number in range(first, first + count):
        journal.append(Batch((), (Note(stream, b'{"line":%d}' % number),), 100.0 + number))
    journal.close()


def followed(path: Path, heads: dict[int, bytes] | None = None, stream: str = "audit") -> Followed:
    connection = apsw.Connection(str(path))
    try:
        return follow_all(connection, FORMAT, {stream: heads or {}})[stream]
    finally:
        connection.close()


def tamper(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    written(tmp_path / "store.db", 12)
    return tmp_path / "store.db"


def test_what_was_appended_is_a_whole_chain(path: Path) -> None:
    found = followed(path)
    assert found.whole
    assert (found.lines, found.older) == (12, 0)
    assert found.chain is not None
    assert (found.chain.first, found.chain.newest) == (1, 12)


def test_a_restart_goes_on_with_the_chain(path: Path) -> None:
    written(path, 5, first=13)
    found = followed(path)
    assert found.whole
    assert found.lines == 17


BREAKS = {
    "a line changed": ("UPDATE notes SET body = CAST('{\"line\":0}' AS BLOB) WHERE seq = 5", 5, "changed"),
    "a time changed": ("UPDATE notes SET at = 7.5 WHERE seq = 5", 5, "changed"),
    "a revision changed": ("UPDATE notes SET revision = 99 WHERE seq = 5", 5, "changed"),
    "a line removed": ("DELETE FROM notes WHERE seq = 5", 5, "the line was removed"),
    "lines removed": ("DELETE FROM notes WHERE seq IN (5, 6, 7)", 5, "lines were removed, up to 7"),
    "the oldest removed": ("DELETE FROM notes WHERE seq < 4", 1, "lines were removed, up to 3"),
    "the newest removed": ("DELETE FROM notes WHERE seq > 10", 11, "lines were removed, up to 12"),
    "all removed": ("DELETE FROM notes", 1, "lines were removed, up to 12"),
    "a line added": (
        "INSERT INTO notes SELECT stream, 13, at, revision, body, digest, link FROM notes WHERE seq = 12",
        13,
        "added",
    ),
    "a link emptied": ("UPDATE notes SET link = NULL WHERE seq = 5", 5, "no digest"),
    "the record removed": ("DELETE FROM chains", 0, "record"),
    "the record changed": ("UPDATE chains SET head = zeroblob(32)", 12, "newest"),
    "the record cut": ("UPDATE chains SET head = x'00'", 0, "record"),
}


@pytest.mark.parametrize("case", BREAKS)
def test_a_break_shows_where_it_is(path: Path, case: str) -> None:
    statement, sequence, words = BREAKS[case]
    tamper(path, statement)
    found = followed(path)
    assert not found.whole
    assert found.broken[0].sequence == sequence
    assert words in found.broken[0].what


@pytest.mark.parametrize("case", BREAKS)
def test_a_server_that_goes_on_does_not_cover_it(path: Path, case: str) -> None:
    tamper(path, BREAKS[case][0])
    written(path, 3, first=13)
    assert not followed(path).whole


def test_two_lines_that_changed_places_show(path: Path) -> None:
    tamper(
        path,
        "UPDATE notes SET seq = 100 WHERE seq = 5",
        "UPDATE notes SET seq = 5 WHERE seq = 6",
        "UPDATE notes SET seq = 6 WHERE seq = 100",
    )
    assert followed(path).broken[0].sequence == 5


def test_one_edit_is_one_break(path: Path) -> None:
    tamper(path, "UPDATE notes SET revision = 99 WHERE seq = 5")
    assert followed(path).breaks == 1


def test_breaks_are_counted_beyond_those_that_are_named(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    written(path, 30)
    tamper(path, "UPDATE notes SET revision = 99")
    found = followed(path)
    assert (len(found.broken), found.breaks) == (20, 30)


def forged(path: Path, upto: int) -> None:
    """All links made anew after an edit, as somebody would who has the file and this source."""
    connection = apsw.Connection(str(path))
    before = bytes(32)
    rows = connection.execute("SELECT seq, at, revision, body FROM notes ORDER BY seq").fetchall()
    for sequence, at, revision, body in rows[:upto]:
        assert isinstance(sequence, int)
        assert isinstance(revision, int)
        assert isinstance(body, bytes)
        before = link(before, "audit", sequence, repr(at), revision, body)
        connection.execute("UPDATE notes SET link = ? WHERE seq = ?", (before, sequence))
    connection.execute("UPDATE chains SET head = ?", (before,))
    connection.close()


def test_a_chain_made_anew_is_found_by_a_head_that_was_noted(path: Path) -> None:
    chain = followed(path).chain
    assert chain is not None
    noted = {chain.newest: chain.head}
    assert followed(path, noted).heads == {12: "same"}
    tamper(path, "UPDATE notes SET revision = 99 WHERE seq = 5")
    forged(path, 12)
    assert followed(path).whole  # by itself nobody can tell
    found = followed(path, noted)
    assert not found.whole
    assert found.heads == {12: "other"}


def test_a_head_of_a_line_that_is_not_there_is_a_break(path: Path) -> None:
    found = followed(path, {40: bytes(32)})
    assert not found.whole
    assert found.heads == {40: "missing"}


def test_retention_leaves_an_anchor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_logs, "_SLACK", 3)
    path = tmp_path / "store.db"
    written(path, 30, notes_max=10)
    found = followed(path)
    assert found.whole
    assert found.chain is not None
    assert found.chain.why == TRIMMED
    assert found.chain.first > 15
    assert found.lines == 30 - found.chain.first + 1
    assert followed(path, {3: bytes(32)}).heads == {3: "gone"}
    tamper(path, f"DELETE FROM notes WHERE seq = {found.chain.first}")
    assert followed(path).broken[0].sequence == found.chain.first


def downgraded(path: Path) -> None:
    """As a release before chains left it."""
    tamper(path, "ALTER TABLE notes DROP COLUMN link", "DROP TABLE chains", "PRAGMA user_version = 2")


def test_lines_that_are_older_than_the_chain_stay_before_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downgraded(path)
    journal = SqliteJournal(str(path))
    journal.recover()
    journal.close()
    found = followed(path)
    assert found.whole
    assert (found.lines, found.older) == (0, 12)
    written(path, 4, first=13)
    found = followed(path)
    assert found.whole
    assert (found.lines, found.older) == (4, 12)
    assert found.chain is not None
    assert (found.chain.first, found.chain.why) == (13, UPGRADED)
    monkeypatch.setattr(bounded_logs, "_SLACK", 1)
    written(path, 20, first=17, notes_max=5)
    found = followed(path)
    assert found.whole
    assert found.older == 0
    assert found.chain.why == TRIMMED if found.chain else False


def test_a_record_that_was_missing_is_made_anew_and_told(path: Path) -> None:
    tamper(path, "DELETE FROM chains")
    written(path, 2, first=13)
    found = followed(path)
    assert found.chain is not None
    assert found.chain.why == REPAIRED
    assert "made anew" in found.broken[0].what


def test_a_batch_that_failed_leaves_the_chain_as_it_was(path: Path) -> None:
    journal = SqliteJournal(str(path))
    journal.recover()
    journal._writer.execute(
        "CREATE TEMP TRIGGER full BEFORE UPDATE ON main.chains BEGIN SELECT raise(FAIL, 'x'); END"
    )
    with pytest.raises(JournalError):
        journal.append(Batch((), (Note("audit", b"{}"),), 200.0))
    journal._writer.execute("DROP TRIGGER full")
    journal.append(Batch((), (Note("audit", b"{}"), Note("decisions", b"{}"), Note("audit", b"{}")), 201.0))
    journal.close()
    found = followed(path)
    assert found.whole
    assert found.lines == 14
    assert followed(path, stream="decisions").lines == 1


def test_a_backup_has_the_chain(path: Path, tmp_path: Path) -> None:
    backup(str(path), str(tmp_path / "copy.db"))
    assert followed(tmp_path / "copy.db") == followed(path)


def test_check_names_a_break(tmp_path: Path) -> None:
    with open_data_directory(tmp_path / "plane") as directory:
        journal = directory.journal()
        journal.recover()
        for number in range(3):
            journal.append(Batch((), (Note("audit", b"{}"),), 100.0 + number))
        journal.close()
    assert check_directory(tmp_path / "plane", None).findings.sound
    assert follow_chains(tmp_path / "plane", {})["audit"].whole
    tamper(tmp_path / "plane" / "store.db", "UPDATE notes SET link = zeroblob(32) WHERE seq = 2")
    problems = check_directory(tmp_path / "plane", None).findings.problems
    assert any("audit: the chain breaks at line 2" in each for each in problems)


KILLED = """
import os, signal, sys, threading
from fairlead.store.contract import Batch, Note
from fairlead.store.sqlite import SqliteJournal
journal = SqliteJournal(sys.argv[1], checkpoint_pages=8)
journal.recover()
print("ready", flush=True)
number = 0
while True:
    number += 1
    journal.append(Batch((), tuple([Note("audit", b"{}" * 50)] * 7), float(number)))
    print(number, flush=True)
"""


def test_a_kill_leaves_a_chain_that_holds(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for round_ in range(4):
        writer = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        with writer.stdout:
            while (line := writer.stdout.readline().strip()) != str(3 + round_):
                assert line
            os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        found = followed(path)
        assert found.whole
        assert found.lines >= 7 * 3


def test_nothing_to_follow_is_whole() -> None:
    assert verify("audit", Chain(), (), {}).whole

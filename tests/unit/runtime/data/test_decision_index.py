"""The index of decisions follows the log, finds what touches an object, and is made anew when it cannot be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.api.audit.recording import STREAM as AUDIT
from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.core import codec
from fairlead.core.errors import Unavailable
from fairlead.runtime.data import decision_index
from fairlead.runtime.data.decision_index import DecisionIndexFile, index_beside
from fairlead.store.contract import Batch, Note
from fairlead.store.log_reader import LogReader
from fairlead.store.sqlite import SqliteJournal


class Kept:
    """A store on a disk, and the index beside it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.open()

    def open(self) -> None:
        self.journal = SqliteJournal(str(self.directory / "store.db"))
        self.journal.recover()
        found = index_beside(self.journal)
        assert isinstance(found, DecisionIndexFile)
        self.index = found

    def close(self) -> None:
        self.index.close()
        self.journal.close()

    def decide(self, name: str, *about: str, stream: str = DECISIONS) -> None:
        line = {"id": f"aa-{name}", "controller": "c", "object": f"pods/default/{name}", "about": about}
        self.journal.append(Batch((), (Note(stream, codec.encode(line)),), 1.0))

    @property
    def path(self) -> Path:
        return self.directory / decision_index.FILE


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    kept = Kept(tmp_path)
    yield kept
    kept.close()


def test_lines_are_found_by_what_they_touch_and_by_id_the_newest_first(kept: Kept) -> None:
    kept.decide("a", "nodes/n1")
    kept.decide("b", "nodes/n1", "pods/default/a")
    kept.decide("a", stream=TURNS)
    assert kept.index.sequences(["nodes/n1"]) == [2, 1]
    assert kept.index.sequences(["pods/default/a"]) == [2, 1]
    assert kept.index.sequences(["pods/default/b", "nodes/n1"], 2) == [1]
    assert kept.index.sequences(["#aa-b"]) == [2]
    assert kept.index.sequences(["pods/default/a"], stream=TURNS) == [1]
    assert kept.index.sequences(["pods/default/c"]) == []
    kept.decide("c")
    assert kept.index.sequences(["pods/default/c"]) == [3], "what came since is taken in when it is asked"


def test_requests_are_found_by_what_they_named_and_by_the_decision_they_carry_out(kept: Kept) -> None:
    target = {
        "group": "apps",
        "version": "v1",
        "resource": "deployments",
        "namespace": "default",
        "name": "web",
    }
    lines = (
        {"verb": "patch", "object": target, "decision": "aa-7"},
        {"verb": "create", "object": {"resource": "nodes", "name": "n1"}},
        {"verb": "list", "object": {"resource": "pods", "namespace": "default"}},
    )
    notes = tuple(Note(AUDIT, codec.encode(each)) for each in lines)
    kept.journal.append(Batch((), notes, 1.0))
    assert kept.index.sequences(["deployments.apps/default/web"], stream=AUDIT) == [1]
    assert kept.index.sequences(["#aa-7"], stream=AUDIT) == [1]
    assert kept.index.sequences(["nodes/n1"], stream=AUDIT) == [2]
    assert kept.index.sequences(["pods/default"], stream=AUDIT) == [], "which names no object"
    assert kept.index.sequences(["nodes/n1"]) == [], "each log has its own"


def test_it_goes_on_where_it_was(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.decide("a")
    assert kept.index.sequences(["pods/default/a"]) == [1]
    kept.close()
    kept.open()
    read: list[int] = []
    bodies = LogReader.bodies

    def noting(self: LogReader, stream: str, after: int, limit: int) -> list[tuple[int, bytes, bytes]]:
        read.append(after)
        return bodies(self, stream, after, limit)

    monkeypatch.setattr(LogReader, "bodies", noting)
    kept.decide("a")
    assert kept.index.sequences(["pods/default/a"]) == [2, 1]
    assert read == [1], "decisions from where it was, and no other log"


@pytest.mark.parametrize("wrong", ["missing", "damaged", "other"])
def test_it_is_made_anew_when_it_cannot_be_trusted(kept: Kept, wrong: str) -> None:
    kept.decide("a")
    assert kept.index.sequences(["pods/default/a"]) == [1]
    kept.close()
    if wrong == "missing":
        kept.path.unlink()
    elif wrong == "damaged":
        kept.path.write_bytes(b"no database at all" * 300)
    else:  # of a store that has been replaced since
        (kept.directory / "store.db").unlink()
    kept.open()
    if wrong == "other":
        kept.decide("b")
        kept.decide("a")
        assert kept.index.sequences(["pods/default/b"]) == [1]
    else:
        assert kept.index.sequences(["pods/default/a"]) == [1]


def test_one_that_an_older_release_made_finds_lines_by_the_keys_of_this_one(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until format 4 the line that opens a term was found by nothing."""
    line = {"term": "aa", "controller": "plane", "flags": []}
    kept.journal.append(Batch((), (Note(DECISIONS, codec.encode(line)),), 1.0))
    kept.close()
    kept.path.unlink()
    with monkeypatch.context() as older:
        older.setattr(decision_index, "_FORMAT", 3)
        older.setattr(decision_index, "touched_by", lambda body: [])
        kept.open()
        assert kept.index.sequences(["#aa"]) == []
        kept.close()
    kept.open()
    assert kept.index.sequences(["#aa"]) == [1]


def test_damage_that_is_found_in_use_is_told_once_and_mended(kept: Kept) -> None:
    kept.decide("a")
    assert kept.index.sequences(["pods/default/a"]) == [1]
    kept.index._file.execute("DROP TABLE decisions")
    with pytest.raises(Unavailable, match="made anew"):
        kept.index.sequences(["pods/default/a"])
    assert kept.index.sequences(["pods/default/a"]) == [1]


def test_where_it_cannot_be_written_it_is_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / decision_index.FILE).mkdir()
    kept = Kept(tmp_path)
    kept.decide("a")
    assert kept.index.sequences(["pods/default/a"]) == [1]
    kept.close()


def test_lines_that_are_gone_are_swept_out(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_index, "GONE_MAX", 5)
    monkeypatch.setattr(decision_index, "STRETCH", 4)
    for _ in range(20):
        kept.decide("a")
    assert len(kept.index.sequences(["pods/default/a"])) == 20
    kept.journal._writer.execute("DELETE FROM notes WHERE seq <= 12")
    kept.index._sweep()
    rows = kept.index._file.execute("SELECT count(*), min(seq) FROM decisions").fetchall()
    assert rows == [(18, 12)], "two keys of each of the eight that are left, and of the one beside them"
    assert kept.index.sequences(["pods/default/a"], 16) == [15, 14, 13, 12]


def test_lines_of_every_stretch_are_found_the_newest_first(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision_index, "STRETCH", 4)
    names = "abbacabbbcaabcbbaacb"
    for name in names:
        kept.decide(name)
    for asked in ("a", "b", "c", "ab", "bc", "x"):
        keys = [f"pods/default/{name}" for name in asked]
        there = [number for number, name in enumerate(names, 1) if name in asked][::-1]
        for before in (0, 1, 4, 5, 9, 21, 100):
            for limit in (1, 3, 1000):
                wanted = [number for number in there if not before or number < before][:limit]
                assert kept.index.sequences(keys, before, limit) == wanted


def test_a_thread_follows_the_log(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.decide("a")
    followed: list[bool] = []

    def sweep() -> None:
        followed.append(True)
        kept.index._stop.set()

    monkeypatch.setattr(kept.index, "_sweep", sweep)
    kept.index.start()
    assert kept.index._thread is not None
    kept.index._thread.join(10)
    assert followed == [True]
    assert kept.index._after[DECISIONS] == 1

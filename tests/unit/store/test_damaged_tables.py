"""Tables whose rows are no longer theirs, as a disk leaves them that forgot what it had synced: nothing raises or hangs."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from fairlead.store import schema
from fairlead.store.bounded_logs import Lines
from fairlead.store.compaction import Compaction
from fairlead.store.recovery import _floors, read_all
from fairlead.store.retention import LogBound
from fairlead.store.rows import distinct_values
from fairlead.store.seal import Seal, read_seal
from tests.unit.store.rot import fill


def table(statements: str) -> apsw.Connection:
    """Without the constraints that damage does not heed."""
    connection = apsw.Connection(":memory:")
    connection.execute(statements)
    return connection


def test_a_floor_without_a_name_makes_all_of_them_unsound() -> None:
    floors = table(
        "CREATE TABLE floors (resource, floor, swept, digest); INSERT INTO floors VALUES (NULL, 1, 1, 1)"
    )
    found, _, sound = _floors(floors, True)
    assert (found, sound) == ({}, False)


def test_a_floor_without_a_number_ends_compaction_with_an_error_of_the_disk() -> None:
    floors = table(
        "CREATE TABLE floors (resource, floor, swept); INSERT INTO floors VALUES ('pods', NULL, NULL)"
    )
    with pytest.raises(apsw.CorruptError, match="history"):
        Compaction(floors).compact(Seal(), 0.0, {}, 10)


def test_a_log_that_is_named_and_not_found_is_damage() -> None:
    lines = table(
        "CREATE TABLE notes (stream, seq); INSERT INTO notes VALUES ('audit', NULL);"
        "CREATE TABLE chains (stream, first, before, newest, head, since, why)"
    )
    with pytest.raises(apsw.CorruptError, match="lines"):
        Lines(lines, {"": LogBound(lines_max=10)})


def test_values_that_do_not_rise_are_damage_and_no_loop_without_end() -> None:
    class Circling:
        """An index whose pages are not in order."""

        def execute(self, statement: str, values: tuple[str, ...]) -> Circling:
            self._next = "b" if values != ("b",) else "a"
            return self

        def fetchall(self) -> list[tuple[str]]:
            return [(self._next,)]

    connection: apsw.Connection = Circling()  # type: ignore[assignment]
    with pytest.raises(apsw.CorruptError, match="index"):
        list(distinct_values(connection, "resource", "log"))


def test_a_schema_that_is_no_text_any_more_is_not_sound() -> None:
    connection = table("CREATE TABLE a (b)")
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = CAST(x'4352e32041' AS TEXT)")
    assert not schema.is_sound(connection, schema.FORMAT)


def test_a_seal_that_is_older_than_the_log_confirms_nothing(tmp_path: Path) -> None:
    """Its page was not written though the log's was: pointers of its time would add up, and be of another."""
    fill(tmp_path, close=True)
    connection = apsw.Connection(str(tmp_path / "store.db"))
    assert read_all(connection, schema.FORMAT).recovered.reports == ()
    seal = read_seal(connection)
    assert seal is not None
    seal.revision -= 1
    seal.write(connection)
    assert "seal" in read_all(connection, schema.FORMAT).recovered.reports[0]
    connection.close()

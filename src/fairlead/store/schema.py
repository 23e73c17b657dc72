"""The tables of the sqlite journal, and how a database of an older format comes to the present one.

A version's bytes are stored once, in `log`; `objects` points at the current ones. The index holds all small columns of
the log, so that undoing the present and compacting never touch the values. Format 2 gave each row a digest, format 3
each line of a log a link to the one before (`log_chain.py`); a new
database is made by the same statements as an upgraded one, so that their tables are the same to the letter. An upgrade
is one transaction that touches no row of a log: however much history there is, the start does not wait for it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import apsw

from fairlead.store.digests import floor_digest
from fairlead.store.seal import Seal, Total

APPLICATION_ID = 0x4661_6972  # "Fair"
FORMAT = 3

TYPE_CODES = {"ADDED": 0, "MODIFIED": 1, "DELETED": 2}
TOMBSTONE = TYPE_CODES["DELETED"]

_FIRST = """
CREATE TABLE log (
  revision INTEGER PRIMARY KEY, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
  uid TEXT NOT NULL, type INTEGER NOT NULL, previous INTEGER NOT NULL, at REAL NOT NULL,
  size INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX log_by_resource ON log (resource, revision, type, previous, at, size, namespace, name);
CREATE TABLE objects (
  resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL,
  PRIMARY KEY (resource, namespace, name)) WITHOUT ROWID;
CREATE TABLE floors (
  resource TEXT PRIMARY KEY, floor INTEGER NOT NULL, swept INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE notes (
  stream TEXT NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, revision INTEGER NOT NULL,
  body BLOB NOT NULL, PRIMARY KEY (stream, seq)) WITHOUT ROWID;
"""
_SECOND = """
ALTER TABLE log ADD COLUMN digest INTEGER;
ALTER TABLE objects ADD COLUMN digest INTEGER;
ALTER TABLE floors ADD COLUMN digest INTEGER;
ALTER TABLE notes ADD COLUMN digest INTEGER;
CREATE TABLE seal (
  id INTEGER PRIMARY KEY, since INTEGER NOT NULL, revision INTEGER NOT NULL,
  objects_count INTEGER NOT NULL, objects_sum INTEGER NOT NULL, log_count INTEGER NOT NULL,
  log_sum INTEGER NOT NULL, notes_count INTEGER NOT NULL, notes_sum INTEGER NOT NULL,
  floors_count INTEGER NOT NULL, floors_sum INTEGER NOT NULL, digest INTEGER NOT NULL);
CREATE TABLE lost (
  after INTEGER PRIMARY KEY, until INTEGER NOT NULL, why TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE damaged (
  resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL,
  since REAL NOT NULL, why TEXT NOT NULL, resolved INTEGER NOT NULL,
  PRIMARY KEY (resource, namespace, name, revision)) WITHOUT ROWID;
"""
_THIRD = """
ALTER TABLE notes ADD COLUMN link BLOB;
CREATE TABLE chains (
  stream TEXT PRIMARY KEY, first INTEGER NOT NULL, before BLOB NOT NULL, newest INTEGER NOT NULL,
  head BLOB NOT NULL, since REAL NOT NULL, why TEXT NOT NULL) WITHOUT ROWID;
"""
_STEPS = {1: _FIRST, 2: _SECOND, 3: _THIRD}


def _run(connection: apsw.Connection, statements: str) -> None:
    for statement in statements.split(";\n"):
        if statement.strip():
            connection.execute(statement).fetchall()


def create(connection: apsw.Connection) -> None:
    """All or nothing, so that a crash while creating leaves an empty file."""
    with connection:
        for step in _STEPS.values():
            _run(connection, step)
        Seal().write(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}").fetchall()
        connection.execute(f"PRAGMA user_version = {FORMAT}").fetchall()


def upgrade(connection: apsw.Connection, version: int) -> None:
    """From an older format to the present one, in one transaction. Rows get digests when they are written again, or a
    few at a time; lines that are there already stay without a link."""
    with connection:
        if version < 2:
            _upgrade_to_2(connection)
        _run(connection, _THIRD)
        connection.execute(f"PRAGMA user_version = {FORMAT}").fetchall()


def _upgrade_to_2(connection: apsw.Connection) -> None:
    _run(connection, _SECOND)
    rows: list[Any] = connection.execute("SELECT resource, floor, swept FROM floors").fetchall()
    floors = Total()
    for row in rows:
        digest = floor_digest(*row)
        floors.add(digest)
        connection.execute("UPDATE floors SET digest = ? WHERE resource = ?", (digest, row[0]))
    newest: list[Any] = connection.execute("SELECT max(revision) FROM log").fetchall()
    since = max([newest[0][0] or 0, *[floor for _, floor, _ in rows]])
    Seal(since=since, revision=since, floors=floors).write(connection)


def is_sound(connection: apsw.Connection, version: int) -> bool:
    """Whether the tables are, to the letter, those of a format: what their rows mean hangs on it."""
    try:
        return version in _STEPS and _tables(connection) == _expected(version)
    except UnicodeDecodeError:
        return False


@lru_cache(maxsize=8)
def _expected(version: int) -> frozenset[tuple[str, str, str, str]]:
    connection = apsw.Connection(":memory:")
    try:
        for number, step in _STEPS.items():
            if number <= version:
                _run(connection, step)
        return _tables(connection)
    finally:
        connection.close()


def _tables(connection: apsw.Connection) -> frozenset[tuple[str, str, str, str]]:
    rows: list[Any] = connection.execute(
        "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema"
    ).fetchall()
    return frozenset(map(tuple, rows))

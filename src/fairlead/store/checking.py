"""A whole database read and compared with itself: what `fairlead check` tells. Reads only.

Rows are compared with their digests, tables with the seal, logs with their chains, and SQLite looks at its own pages
and indexes: that finds what no single row can show, a missing one, and an index that names another row than its table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import msgspec

from fairlead.model.key import Key
from fairlead.store.contract import Damaged, Lost, Recovered
from fairlead.store.damage import name_object
from fairlead.store.digests import note_digest
from fairlead.store.log_verifying import follow_all
from fairlead.store.recovery import read_all, version_of
from fairlead.store.schema import TOMBSTONE
from fairlead.store.seal import Total, read_seal

#: bound: store | problems that `fairlead check` names | the rest is not
PROBLEMS_MAX = 1_000

_LOG = (
    "SELECT revision, CAST(resource AS BLOB), CAST(namespace AS BLOB), CAST(name AS BLOB), CAST(uid AS BLOB),"
    " type, previous, at, size, data, {} FROM log NOT INDEXED"
)
_NOTES = "SELECT CAST(stream AS BLOB), seq, at, revision, body, {} FROM notes"


class Findings(msgspec.Struct):
    format: int
    revision: int
    objects: int
    versions: int
    notes: int
    undigested: int  # rows that are older than digests: read, but not compared
    damaged: tuple[Damaged, ...]
    lost: tuple[Lost, ...]
    problems: list[str]
    recovered: Recovered

    @property
    def sound(self) -> bool:
        return not self.damaged and not self.problems


def check(connection: apsw.Connection, version: int) -> Findings:
    reading = read_all(connection, version)
    seal = read_seal(connection) if version >= 2 else None
    recovered = reading.recovered
    found = Findings(
        format=version, revision=recovered.revision, objects=len(recovered.entries), versions=0, notes=0,
        undigested=0, damaged=recovered.damaged, lost=recovered.lost, problems=list(recovered.reports),
        recovered=recovered,
    )  # fmt: skip
    known = {(each.entry.key, each.entry.revision) for each in recovered.damaged}
    log, notes = Total(), Total()
    since = seal.since if seal else recovered.revision
    column = "digest" if version >= 2 else "NULL"
    _told(found, _versions(connection.execute(_LOG.format(column)), found, log, since, known))
    _told(found, _notes(connection.execute(_NOTES.format(column)), found, notes))
    _told(found, _chains(connection, version))
    if seal is not None:
        for name, total, sealed in (("log", log, seal.log), ("notes", notes, seal.notes)):
            if not total.same(sealed):
                found.problems.append(
                    f"table {name} has {total.count} rows with a digest, and {sealed.count} were written,"
                    " or they are not the same ones"
                )
    try:
        rows = connection.execute("PRAGMA integrity_check").fetchall()
        found.problems += [f"SQLite: {row[0]}" for row in rows if row[0] != "ok"]
    except apsw.CorruptError as error:
        found.problems.append(f"SQLite: {error}")
    return found


def _told(found: Findings, problems: Iterator[str]) -> None:
    try:
        for problem in problems:
            if len(found.problems) < PROBLEMS_MAX:
                found.problems.append(problem)
    except apsw.CorruptError as error:
        found.problems.append(f"a table cannot be read to its end ({error})")


def _versions(
    rows: Iterable[Any], found: Findings, total: Total, since: int, known: set[tuple[Key, int]]
) -> Iterator[str]:
    for revision, *names, uid, code, previous, at, size, data, digest in rows:
        found.versions += 1
        key = Key(*[_text(each) for each in names])
        found.undigested += digest is None
        if digest is not None:
            total.add(digest)
        row = (_text(uid), code, previous, at, size, data, digest)
        entry = version_of(row, key, revision, since)
        if isinstance(entry, str) and (key, revision) not in known:
            what = "the deletion" if code == TOMBSTONE else "an old version"
            yield f"history: {what} of {name_object(key)} at revision {revision} is damaged ({entry})"


def _notes(rows: Iterable[Any], found: Findings, total: Total) -> Iterator[str]:
    for stream, sequence, at, revision, body, digest in rows:
        found.notes += 1
        found.undigested += digest is None
        if digest is None:
            continue
        total.add(digest)
        name = _text(stream)
        if not isinstance(body, bytes) or digest != note_digest(name, sequence, repr(at), revision, body):
            yield f"{name}: line {sequence} is damaged"


def _chains(connection: apsw.Connection, version: int) -> Iterator[str]:
    for stream, followed in follow_all(connection, version).items():
        for broken in followed.broken:
            yield f"{stream}: the chain breaks at line {broken.sequence}: {broken.what}"


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

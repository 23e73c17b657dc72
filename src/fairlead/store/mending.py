"""What recovery found out, written down: pointers taken from the log, what is damaged since when, what was lost.

Called by `sqlite.py` on its writing connection; each is one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from fairlead.core.errors import DataDirectoryError
from fairlead.store.contract import Entry, Lost, Recovered
from fairlead.store.digests import pointer_digest
from fairlead.store.rows import insert_rows
from fairlead.store.seal import Seal, Total

#: bound: store | stretches of lost revisions | the oldest are joined
LOST_RANGES_MAX = 64  # older ones are joined


def write_anew(
    connection: apsw.Connection, path: str, entries: Sequence[Entry], seal: Seal, unsealed: bool
) -> None:
    """The table of pointers, and the seal. Not if SQLite cannot tell which pages are the table's."""
    problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check('objects')")]
    if any(" page " in each for each in problems):
        raise DataDirectoryError(
            f"{path} is damaged ({problems[0]}), and with it the table that tells which objects exist; see"
            " `fairlead check`, then restore a backup with `fairlead restore`"
        )
    if unsealed:
        seal.log, seal.notes, seal.floors = _recounted(connection)
    with connection:
        connection.execute("DELETE FROM objects")
        seal.objects = Total()
        rows = [(*entry.key, entry.revision, pointer_digest(entry.key, entry.revision)) for entry in entries]
        seal.objects.add_all([row[4] for row in rows])
        insert_rows(connection, "INSERT INTO objects VALUES", 5, rows)
        seal.write(connection)


def _recounted(connection: apsw.Connection) -> tuple[Total, Total, Total]:
    """Of log, notes and floors: what their digests add up to."""
    totals = []
    for table in ("log", "notes", "floors"):
        total = Total()
        for row in connection.execute(f"SELECT digest FROM {table} WHERE digest IS NOT NULL"):
            total.add(row[0])
        totals.append(total)
    return totals[0], totals[1], totals[2]


def note_lost(connection: apsw.Connection, lost: Lost, seal: Seal) -> None:
    with connection:
        rows: list[Any] = connection.execute("SELECT after, until FROM lost ORDER BY after").fetchall()
        if len(rows) >= LOST_RANGES_MAX:
            (first, _), (second, until) = rows[0], rows[1]
            connection.execute("DELETE FROM lost WHERE after = ?", (second,))
            connection.execute("UPDATE lost SET until = ? WHERE after = ?", (until, first))
        connection.execute(
            "INSERT OR REPLACE INTO lost VALUES (?, ?, ?, ?)", (lost.after, lost.until, lost.why, lost.at)
        )
        seal.write(connection)


def note_damaged(connection: apsw.Connection, recovered: Recovered, now: float) -> Recovered:
    """Remember since when each is known, and say so. That cannot be written does not matter: it is found again."""
    damaged = tuple(
        each if each.since else msgspec.structs.replace(each, since=now) for each in recovered.damaged
    )
    try:
        with connection:
            connection.executemany(
                "INSERT OR IGNORE INTO damaged VALUES (?, ?, ?, ?, ?, ?, 0)",
                [(*each.entry.key, each.entry.revision, each.since, each.why) for each in damaged],
            )
    except apsw.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return msgspec.structs.replace(recovered, damaged=damaged)

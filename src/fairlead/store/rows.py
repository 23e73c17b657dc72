"""Rows of the sqlite journal, written and listed in few statements: each gives the interpreter lock away.

Used by `sqlite.py`, `bounded_logs.py`, `compaction.py` and `mending.py` on the writing connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

import apsw

_ROWS_MAX = 128  # rows in one INSERT
# More rows than this go in by a multiple of it and then the rest. A statement for each number of rows would be parsed
# nearly each time, which takes as long as to insert twenty rows and gives the lock away as often as a second statement.
_ROWS_STEP = 16


def insert_rows(
    connection: apsw.Connection,
    into: str,
    columns: int,
    rows: Sequence[tuple[object, ...]],
    otherwise: str = "",
) -> None:
    """`into`: an INSERT statement up to its VALUES, `otherwise`: its ON CONFLICT. OR ROLLBACK where a failure ends the
    transaction anyway: of any other SQLite copies each page before the statement changes it."""
    start, end = 0, len(rows)
    while start < end:
        left = end - start
        count = min(left - left % _ROWS_STEP, _ROWS_MAX) or left
        some = rows[start : start + count]
        connection.execute(_insert(into, columns, count, otherwise), list(chain.from_iterable(some)))
        start += count


@lru_cache(maxsize=256)
def _insert(into: str, columns: int, rows: int, otherwise: str) -> str:
    marks = f"({','.join('?' * columns)})"
    return f"{into} {','.join([marks] * rows)} {otherwise}"


def distinct_values(connection: apsw.Connection, column: str, table: str) -> Iterator[str]:
    """The values of an index's first column, by one seek each."""
    statement = f"SELECT min({column}) FROM {table} WHERE {column} > ?"
    value = connection.execute(statement, ("",)).fetchall()[0][0]
    while value is not None:
        yield str(value)
        before, value = value, connection.execute(statement, (value,)).fetchall()[0][0]
        if value is not None and not str(value) > str(
            before
        ):  # pages that are not in order: it would not end
            raise apsw.CorruptError(f"the index of {table} is damaged")

"""Rows of the sqlite journal, written and listed in few statements: each gives the interpreter lock away.

Used by `sqlite.py`, `bounded_logs.py`, `compaction.py` and `mending.py` on the writing connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import apsw

_ROWS_MAX = 128  # rows in one INSERT


def insert_rows(
    connection: apsw.Connection, into: str, columns: int, rows: Sequence[tuple[object, ...]]
) -> None:
    """`into`: an INSERT statement up to its VALUES."""
    marks = f"({','.join('?' * columns)})"
    for start in range(0, len(rows), _ROWS_MAX):
        some = rows[start : start + _ROWS_MAX]
        statement = f"{into} {','.join([marks] * len(some))}"
        connection.execute(statement, list(chain.from_iterable(some)))


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

"""The seal: how many rows each table has, and the sum of their digests, so that a row that is missing is missed.

Kept by `sqlite.py` in the transaction that changes the rows; compared by recovery (`objects`) and by `fairlead check`
(all). Rows of a database that was upgraded have no digest until they are written again: they do not count.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import apsw
import msgspec

from fairlead.store.digests import row_digest, wrap_sum

_READ = (
    "SELECT since, revision, objects_count, objects_sum, log_count, log_sum, notes_count, notes_sum,"
    " floors_count, floors_sum, digest FROM seal"
)
_WRITE = "INSERT OR REPLACE INTO seal VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Total(msgspec.Struct):
    """Of one table's rows that have a digest."""

    count: int = 0
    sum: int = 0

    def add(self, digest: int) -> None:
        self.count += 1
        self.sum += digest

    def remove(self, digest: int) -> None:
        self.count -= 1
        self.sum -= digest

    def add_all(self, digests: Collection[int]) -> None:
        self.count += len(digests)
        self.sum += sum(digests)

    def same(self, other: Total) -> bool:
        return (self.count, wrap_sum(self.sum)) == (other.count, wrap_sum(other.sum))


class Seal(msgspec.Struct):
    since: int = 0  # rows up to this revision may be older than digests
    revision: int = 0  # the newest that was appended
    objects: Total = msgspec.field(default_factory=Total)
    log: Total = msgspec.field(default_factory=Total)
    notes: Total = msgspec.field(default_factory=Total)
    floors: Total = msgspec.field(default_factory=Total)

    def _numbers(self) -> tuple[int, ...]:
        totals = (self.objects, self.log, self.notes, self.floors)
        return self.since, self.revision, *[n for each in totals for n in (each.count, wrap_sum(each.sum))]

    def write(self, connection: apsw.Connection) -> None:
        numbers = self._numbers()
        connection.execute(_WRITE, (*numbers, row_digest(numbers)))


def read_seal(connection: apsw.Connection) -> Seal | None:
    """None if it is damaged."""
    rows: list[Any] = connection.execute(_READ).fetchall()
    if len(rows) != 1 or not all(type(each) is int for each in rows[0]):
        return None
    *numbers, digest = rows[0]
    if row_digest(tuple(numbers)) != digest:
        return None
    since, revision, *totals = numbers
    pairs = zip(totals[0::2], totals[1::2], strict=True)
    return Seal(since, revision, *[Total(count, total) for count, total in pairs])

"""Compaction of the sqlite journal: floors move up, and what they leave below is deleted, a stretch at a time.

Part of `sqlite.py`, which calls `compact` inside a transaction, on its writing connection. `retention.py` has the rule
of how far a floor moves; a row that is damaged is never deleted.
"""

from __future__ import annotations

from array import array
from typing import Any

import apsw

from fairlead.model.key import Key
from fairlead.store.contract import Entry, Retention
from fairlead.store.digests import floor_digest
from fairlead.store.recovery import version_of
from fairlead.store.retention import KeptChange, moved_floor, retention_of
from fairlead.store.rows import distinct_values, insert_rows
from fairlead.store.schema import TOMBSTONE
from fairlead.store.seal import Seal


class Compaction:
    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._kept_bytes: dict[str, int] = {}  # per resource, above its floor; filled on first use

    def appended(self, resource: str, size: int) -> None:
        if resource in self._kept_bytes:
            self._kept_bytes[resource] += size

    def forget(self) -> None:
        """A transaction failed: what was counted for it is not so."""
        self._kept_bytes.clear()

    def compact(self, seal: Seal, now: float, retention: dict[str, Retention], budget: int) -> dict[str, int]:
        """The floors now in force. About `budget` rows are walked."""
        marks = {
            resource: (floor, swept)
            for resource, floor, swept in self._connection.execute(
                "SELECT resource, floor, swept FROM floors"
            )
        }
        if not all(type(mark) is int for each in marks.values() for mark in each):
            raise apsw.CorruptError("how far back history reaches is damaged")
        before, left = dict(marks), budget
        for resource, (floor, swept) in marks.items():
            if swept < floor and left > 0:
                swept, walked = self._sweep(seal, resource, swept, floor, left)
                marks[resource] = (floor, swept)
                left -= walked
        for resource in list(distinct_values(self._connection, "resource", "log")):
            floor, swept = marks.get(resource, (0, 0))
            rule = retention_of(resource, retention)
            marks[resource] = (self._move_floor(resource, floor, now, rule, budget), swept)
        # Only what moved: a plane at rest must not write to its disk every few seconds.
        moved = {resource: mark for resource, mark in marks.items() if before.get(resource) != mark}
        self._write(seal, before, moved)
        return {resource: floor for resource, (floor, _) in marks.items()}

    def _write(
        self, seal: Seal, before: dict[str, tuple[int, int]], moved: dict[str, tuple[int, int]]
    ) -> None:
        rows = [(resource, *mark, floor_digest(resource, *mark)) for resource, mark in moved.items()]
        insert_rows(self._connection, "INSERT OR REPLACE INTO floors VALUES", 4, rows)
        seal.floors.add_all([row[3] for row in rows])
        for resource in moved:
            if resource in before:
                seal.floors.remove(floor_digest(resource, *before[resource]))

    def _sweep(self, seal: Seal, resource: str, swept: int, floor: int, budget: int) -> tuple[int, int]:
        """Walk changes up to the floor, deleting what each one superseded and tombstones themselves.
        Returns how far it came and how many rows it walked."""
        rows: list[Any] = self._connection.execute(
            "SELECT revision, previous, type FROM log WHERE resource = ? AND revision > ? AND revision <= ?"
            " ORDER BY revision LIMIT ?",
            (resource, swept, floor, budget),
        ).fetchall()
        gone = array("q")
        for revision, previous, code in rows:
            if previous:
                gone.append(previous)
            if code == TOMBSTONE:
                gone.append(revision)
        if gone:
            self._delete(seal, gone)
        return (rows[-1][0] if len(rows) == budget else floor), len(rows)

    def _delete(self, seal: Seal, gone: array[int]) -> None:
        """Versions that nobody can ask for any more, but for damaged ones: freeing the pages that such a row claims
        could give away another's."""
        rows: list[Any] = self._connection.execute(
            "SELECT revision, resource, namespace, name, uid, type, previous, at, size, data, digest FROM log"
            " WHERE revision IN (SELECT value FROM carray(?))",
            (apsw.carray(gone),),
        ).fetchall()
        sound = array("q")
        for revision, resource, namespace, name, *version in rows:
            key = Key(resource, namespace, name)
            if isinstance(version_of(tuple(version), key, revision, seal.since), Entry):
                sound.append(revision)
                if version[-1] is not None:
                    seal.log.remove(version[-1])
        if sound:
            self._connection.execute(
                "DELETE FROM log WHERE revision IN (SELECT value FROM carray(?))", (apsw.carray(sound),)
            )

    def _move_floor(self, resource: str, floor: int, now: float, retention: Retention, budget: int) -> int:
        kept = self._kept_bytes.get(resource)
        if kept is None:
            sums: list[Any] = self._connection.execute(
                "SELECT coalesce(sum(size), 0) FROM log WHERE resource = ? AND revision > ?",
                (resource, floor),
            ).fetchall()
            kept = int(sums[0][0])
        rows: list[Any] = self._connection.execute(
            "SELECT revision, at, size FROM log WHERE resource = ? AND revision > ?"
            " ORDER BY revision LIMIT ?",
            (resource, floor, budget),
        ).fetchall()
        moved, self._kept_bytes[resource] = moved_floor(
            floor, kept, map(KeptChange._make, rows), now, retention
        )
        return moved

"""The reading half of the sqlite journal: old versions, changes and notes, each compared with its digest.

The event loop's thread calls it, on a connection of its own. What is not as it was written raises LostRevision, so that
whoever read it begins anew from a list; a damaged line of a log says so instead of what it said.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from fairlead.model.key import Key
from fairlead.store.contract import ADDED, DELETED, MODIFIED, CommittedChange, Entry, Lost, LostRevision, Note
from fairlead.store.database_files import journal_error
from fairlead.store.digests import note_digest
from fairlead.store.recovery import version_of
from fairlead.store.seal import Seal

DAMAGED_LINE = b'{"damaged":"this line is not what was written; a backup may have it"}'
#: bound: store | damaged rows of history that are named | the rest is not
DAMAGED_ROWS_MAX = 1_000  # that are remembered, to be named

_LAST = 2**63 - 1
_TYPES = (ADDED, MODIFIED, DELETED)
_VERSION = "{0}.uid, {0}.type, {0}.previous, {0}.at, {0}.size, {0}.data, {0}.digest"
_VERSIONS = (
    f"SELECT l.revision, l.resource, l.namespace, l.name, {_VERSION.format('l')} FROM log l"
    " WHERE l.revision IN (SELECT value FROM carray(?))"
)
_CHANGES = (
    f"SELECT l.revision, l.resource, l.namespace, l.name, {_VERSION.format('l')}, b.revision, {_VERSION.format('b')}"
    " FROM log l LEFT JOIN log b ON b.revision = l.previous"
    " WHERE {} l.revision > ? ORDER BY l.revision LIMIT ?"
)
_CHANGES_OF_ALL = _CHANGES.format("")
_CHANGES_OF_ONE = _CHANGES.format("l.resource = ? AND")


class Past:
    """Implements `JournalReader`, `notes` and `notes_before` of `Journal`."""

    def __init__(self, reader: apsw.Connection) -> None:
        self._reader = reader
        self._seal = Seal()
        self._lost: tuple[Lost, ...] = ()
        self.damaged_rows: dict[
            str, None
        ] = {}  # rows of history and logs that were found damaged, as people call them

    def versions(self, revisions: Iterable[int]) -> dict[int, Entry]:
        wanted = array("q", revisions)
        if not wanted:
            return {}
        return {
            row[0]: self._checked(row[0], Key(*row[1:4]), row[4:])
            for row in self._read(_VERSIONS, (apsw.carray(wanted),))
        }

    def changes_after(self, revision: int, resource: str, limit: int) -> Sequence[CommittedChange]:
        if resource:
            rows = self._read(_CHANGES_OF_ONE, (resource, revision, limit))
        else:
            rows = self._read(_CHANGES_OF_ALL, (revision, limit))
        self._check_order(revision, [row[0] for row in rows], gapless=not resource)
        changes = []
        for row in rows:
            key = Key(*row[1:4])
            entry = self._checked(row[0], key, row[4:11])
            before = None if row[11] is None else self._checked(row[11], key, row[12:])
            changes.append(CommittedChange(_TYPES[row[5]], entry, before))
        return changes

    def _check_order(self, after: int, revisions: Sequence[int], *, gapless: bool) -> None:
        """Revisions rise, whatever a damaged page says. Where changes of all resources are read they have no gaps above
        all floors, but for those that were lost: a missing row has no digest."""
        before, floor = after, 0
        if gapless:
            floor = self._read("SELECT coalesce(max(floor), 0) FROM floors", ())[0][0]
        for revision in revisions:
            edge = max(before, floor)
            told = ""
            if revision <= before:
                told = f"changes after {before} are out of order in the store"
            elif gapless and revision > edge + 1 and not self._lost_between(edge, revision):
                told = f"changes between {edge} and {revision} are missing from the store"
            if told:
                self._found(told)
                raise LostRevision(after, revision, told)
            before = revision

    def _lost_between(self, before: int, revision: int) -> bool:
        return any(lost.after <= before and revision <= lost.until + 1 for lost in self._lost)

    def first_changes_after(self, revision: int, resource: str) -> dict[Key, int]:
        rows = self._read(
            "SELECT min(revision) FROM log WHERE resource = ? AND revision > ? GROUP BY namespace, name",
            (resource, revision),
        )
        # The versions themselves have digests, the index that names them has none.
        return {entry.key: entry.previous for entry in self.versions([row[0] for row in rows]).values()}

    def first_change_after(self, revision: int, key: Key) -> int | None:
        rows = self._read(
            "SELECT revision FROM log WHERE resource = ? AND revision > ? AND namespace = ? AND name = ?"
            " ORDER BY revision LIMIT 1",
            (key.resource, revision, key.namespace, key.name),
        )
        if not rows:
            return None
        found = self.versions([rows[0][0]]).get(rows[0][0])
        return None if found is None else found.previous

    def written_after(self, revision: int) -> tuple[int, float] | None:
        rows = self._read(
            "SELECT revision, at FROM log WHERE revision > ? ORDER BY revision LIMIT 1", (revision,)
        )
        return (rows[0][0], rows[0][1]) if rows else None

    def notes(self, stream: str, after: int, limit: int) -> list[tuple[int, float, Note]]:
        rows = self._read(
            "SELECT seq, at, body, revision, digest FROM notes WHERE stream = ? AND seq > ? ORDER BY seq LIMIT ?",
            (stream, after, limit),
        )
        return [(row[0], row[1], self._note(stream, *row)) for row in rows]

    def notes_before(self, stream: str, before: int, limit: int) -> list[tuple[int, float, Note]]:
        rows = self._read(
            "SELECT seq, at, body, revision, digest FROM notes WHERE stream = ? AND seq < ?"
            " ORDER BY seq DESC LIMIT ?",
            (stream, before or _LAST, limit),
        )
        return [(row[0], row[1], self._note(stream, *row)) for row in reversed(rows)]

    def _note(
        self, stream: str, sequence: int, at: float, body: object, revision: int, digest: int | None
    ) -> Note:
        if digest is None:
            sound = self._seal.since > 0 and isinstance(body, bytes)
        else:
            sound = isinstance(body, bytes) and digest == note_digest(
                stream, sequence, repr(at), revision, body
            )
        if not sound or not isinstance(body, bytes):
            self._found(f"line {sequence} of {stream}")
            return Note(stream, DAMAGED_LINE)
        return Note(stream, body, revision)

    def _checked(self, revision: int, key: Key, row: tuple[Any, ...]) -> Entry:
        entry = version_of(row, key, revision, self._seal.since)
        if isinstance(entry, Entry):
            return entry
        self._found(f"version {revision} of {'/'.join(key)}")
        raise LostRevision(revision, revision, f"a version of {'/'.join(key)} is damaged ({entry})")

    def _found(self, row: str) -> None:
        if len(self.damaged_rows) < DAMAGED_ROWS_MAX:
            self.damaged_rows[row] = None

    def _read(self, statement: str, bindings: tuple[object, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._reader.execute(statement, bindings).fetchall()
        except apsw.CorruptError as error:
            raise LostRevision(0, 0, f"the database is damaged where it is kept ({error})") from error
        except UnicodeDecodeError as error:
            raise LostRevision(0, 0, "the name of an object in it is damaged") from error
        except apsw.Error as error:
            raise journal_error(error) from error

"""A small plane's store, and what became of it after bits of its files were flipped."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import NamedTuple

from fairlead.core.errors import DataDirectoryError, FormatError
from fairlead.model.key import Key
from fairlead.runtime.data.directory import open_data_directory
from fairlead.store.contract import CommittedChange, Compacted, Entry, Note, Put, Remove, Transaction
from fairlead.store.damage import is_stand_in
from fairlead.store.database_files import integrity_problems
from fairlead.store.events import Append, Appended, Flush, Submitted
from fairlead.store.machine import Store
from fairlead.store.past import DAMAGED_LINE
from fairlead.store.sqlite import SqliteJournal

NOW = 1_790_000_000.0


class Written(NamedTuple):
    """What was acknowledged."""

    revision: int
    entries: tuple[Entry, ...]
    changes: tuple[CommittedChange, ...]
    notes: tuple[bytes, ...]


def put(key: Key, value: str, size: int) -> Put:
    named = f'"name":"{key.name}","namespace":"{key.namespace}","uid":"u-{key.name}"'
    head = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"'
    return Put(key, f"u-{key.name}", head, f'",{named}}},"data":{{"value":"{value}{"." * size}"}}}}'.encode())


def fill(directory: Path, *, close: bool) -> Written:
    """Creates, changes, deletions and notes; then an orderly end, or none."""
    with open_data_directory(directory) as held:
        journal = held.journal()
        store = Store(journal.recover(), journal)
        notes: list[bytes] = []
        for turn in range(90):
            key = Key("configmaps", f"space-{turn % 3}", f"map-{turn % 40}")
            notes.append(b'{"turn":%d}' % turn)
            note = Note("audit", notes[-1])
            operation: Put | Remove = put(key, str(turn), (turn * 37) % 3000)
            if turn % 11 == 10 and (there := store.get(key)) is not None:
                operation = Remove(key, there.uid, operation.head, operation.tail)
            store.handle(Submitted(turn, Transaction((operation,), (), (note,))))
            (append,) = store.handle(Flush(NOW + turn))
            assert isinstance(append, Append)
            journal.append(append.batch)
            store.handle(Appended())
            if turn == 45:
                journal._writer.wal_checkpoint(mode=1)  # half in the database, half in the log
        written = Written(
            store.revision,
            tuple(store.list("configmaps")),
            tuple(journal.changes_after(0, "", 1000)),
            tuple(notes),
        )
        if close:
            journal.close()
        else:
            shutil.copytree(directory, directory.with_name(f"{directory.name}-killed"))
            journal.close()
    if not close:
        shutil.rmtree(directory)
        directory.with_name(f"{directory.name}-killed").rename(directory)
    return written


def flip(path: Path, chance: random.Random) -> str:
    content = bytearray(path.read_bytes())
    at, bit = chance.randrange(len(content)), chance.randrange(8)
    content[at] ^= 1 << bit
    path.write_bytes(content)
    return f"bit {bit} of byte {at} of {path.name}"


def verdict(directory: Path, written: Written) -> str:
    """What a start makes of it: "harmless", or "reported: ..."; AssertionError if something changed silently."""
    try:
        with open_data_directory(directory) as held:
            journal = held.journal()
            try:
                return _judged(journal, written)
            finally:
                journal.close()
    except (DataDirectoryError, FormatError) as error:
        return f"reported: refused, {error}"


def _judged(journal: SqliteJournal, written: Written) -> str:
    found = journal.recover()
    told = [f"{each.why}" for each in found.lost] + list(found.reports)
    told += [f"{each.entry.key.name}: {each.why}" for each in found.damaged]
    if not found.lost:
        _same_objects(found.entries, written.entries)
        assert found.revision == written.revision
        told += _history(journal, written)
    else:
        assert found.revision > written.revision, "a revision that was acknowledged would be given out again"
        known = {(each.entry.key, each.entry.data) for each in written.changes}
        assert all((each.key, each.data) in known or is_stand_in(each.data) for each in found.entries)
    problems = integrity_problems(journal._reader)
    if not told and problems:
        told = problems
    return f"reported: {told[0]}" if told else "harmless"


def _same_objects(found: tuple[Entry, ...], written: tuple[Entry, ...]) -> None:
    assert [each.key for each in found] == [each.key for each in written]
    for mine, theirs in zip(found, written, strict=True):
        assert mine == theirs or is_stand_in(mine.data), f"{theirs.key} was changed silently"


def _history(journal: SqliteJournal, written: Written) -> list[str]:
    told = []
    position = 0
    for expected in written.changes:
        try:
            (change,) = journal.changes_after(position, "", 1)
            assert (change.type, change.entry) == (expected.type, expected.entry), (
                "history was changed silently"
            )
        except Compacted as lost:
            told.append(str(lost))
        except ValueError:
            told.append("a change is missing")  # and nothing says so but the seal: see below
        position = expected.entry.revision
    try:
        lines = [note.body for _, _, note in journal.notes("audit", 0, 1000)]
    except Compacted as lost:
        return [*told, str(lost)]
    for line, body in zip(lines, written.notes, strict=False):
        assert line in (body, DAMAGED_LINE)
    if len(lines) != len(written.notes) or DAMAGED_LINE in lines:
        told.append("lines of the audit are damaged")
    return told

"""Reading the present out of a database, believing nothing that cannot be checked.

Called by `sqlite.py` at a start and after a failed write, and for backups and `fairlead check`. The fast way reads each
pointer with its version and compares digests as it goes; an object whose version is not what was written becomes a
stand-in. When pointers themselves are damaged or missing (their number and the sum of their digests are in the seal),
or SQLite cannot walk a table, the careful way asks the log, whose index names each key and revision a second time.
May not write: what it found wrong and could tell right is given back as `mended`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw
import msgspec

from fairlead.model.key import Key
from fairlead.store.contract import Damaged, Entry, Lost, Recovered
from fairlead.store.damage import UNKNOWN_UID, head_of, stand_in
from fairlead.store.digests import floor_digest, pointer_digest, version_digest
from fairlead.store.schema import TOMBSTONE
from fairlead.store.seal import Seal, Total, read_seal

_VERSION = "l.uid, l.type, l.previous, l.at, l.size, l.data, {}"
_RECOVER = (
    "SELECT o.resource, o.namespace, o.name, o.revision, {}, " + _VERSION + " FROM objects o LEFT JOIN log l"
    " ON l.revision = o.revision AND l.resource = o.resource AND l.namespace = o.namespace AND l.name = o.name"
    " ORDER BY o.resource, o.namespace, o.name"
)
_AS_BYTES = "CAST(resource AS BLOB), CAST(namespace AS BLOB), CAST(name AS BLOB)"
_ROW = (
    f"SELECT {_AS_BYTES}, CAST(uid AS BLOB), type, previous, at, size, data, {{}} FROM log WHERE revision = ?"
)
_UNREADABLE = (apsw.CorruptError, UnicodeDecodeError)

_GONE = "its version is not in the log"
_CHANGED = "its bytes are not those that were written"


class RowsRead(msgspec.Struct):
    """What was read. `seal` is what the rows say, to be compared with and written in place of a damaged one."""

    recovered: Recovered
    seal: Seal
    undigested: set[Key]  # their pointers are older than digests
    mended: bool = False  # `objects` is not what its rows say, and must be written anew
    unsealed: bool = False  # so is the seal


class _Objects(msgspec.Struct):
    entries: list[Entry]
    damaged: dict[Key, Damaged]
    total: Total
    undigested: set[Key]
    heads: dict[str, bytes]  # what the bytes of each kind begin with


def read_all(connection: apsw.Connection, version: int) -> RowsRead:
    """The present as the file tells it."""
    digests = version >= 2
    reports: list[str] = []
    seal = read_seal(connection) if digests else Seal()
    last: list[Any] = connection.execute(
        "SELECT revision, at FROM log ORDER BY revision DESC LIMIT 1"
    ).fetchall()
    newest, at = last[0] if last else (0, 0.0)
    if digests and seal is not None and newest > seal.revision:
        seal = None  # it is of an earlier state than the log: what it would confirm may be of that one, too
    if seal is None:
        reports.append("the seal of the database is damaged: whether rows are missing cannot be told")
    floors, floors_total, floors_sound = _floors(connection, digests)
    lost = _lost(connection) if digests else ()
    # A swept tombstone may have been the newest row: its floor still remembers the revision.
    sealed = seal.revision if seal else 0
    newest = max([newest, sealed, *floors.values(), *[each.until for each in lost]])
    since = newest if seal is None else max(seal.since, 0 if digests else newest)
    found = _fast(connection, digests, since, newest)
    mended = False
    if found is None or (digests and seal is not None and not found.total.same(seal.objects)):
        careful = _careful(connection, digests, since)
        mended = found is None or _pointers(careful) != _pointers(found) or seal is not None
        found = careful
        reports.append("pointers to objects were damaged or missing: they were taken from the log")
    known = _known_since(connection) if digests else {}
    damaged = tuple(
        msgspec.structs.replace(each, since=known.get((key, each.entry.revision), 0.0))
        for key, each in sorted(found.damaged.items())
    )
    entries = sorted([*found.entries, *[each.entry for each in damaged]], key=lambda entry: entry.key)
    if digests and (not floors_sound or (seal is not None and not floors_total.same(seal.floors))):
        # Below a floor history has gaps: without knowing where it ends, none can be offered.
        reports.append("how far back history reaches is damaged: nothing before this start is offered")
        floors |= dict.fromkeys([*floors, *[entry.key.resource for entry in entries]], newest)
    kept = seal or Seal(since=newest, revision=newest)
    kept.objects = found.total
    recovered = Recovered(
        revision=newest,
        entries=tuple(entries),
        floors=floors,
        now=at,
        damaged=damaged,
        lost=lost,
        reports=tuple(reports),
    )
    return RowsRead(recovered, kept, found.undigested, mended or seal is None, seal is None)


def version_of(row: tuple[Any, ...], key: Key, revision: int, since: int) -> Entry | str:
    """A version, or what is wrong with it. `row`: uid, type, previous, at, size, data, digest."""
    uid, code, previous, at, size, data, digest = row
    if data is None and uid is None:
        return _GONE
    if type(data) is not bytes or type(uid) is not str or size != len(data) or type(at) is not float:
        return _CHANGED
    if digest is None:
        if revision > since or not _plausible(data, key, uid, revision):
            return _CHANGED
    elif digest != version_digest(revision, key, uid, code, previous, repr(at), data):
        return _CHANGED
    return Entry(key, uid, revision, data, previous)


class _Named(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = msgspec.field(name="resourceVersion", default="")


class _Outline(msgspec.Struct):
    metadata: _Named


_outline = msgspec.json.Decoder(_Outline).decode


def _plausible(data: bytes, key: Key, uid: str, revision: int) -> bool:
    """All that can be told of a version that is older than digests: it is JSON and names itself as its row does."""
    if data.find(b'"metadata"') < 0:
        return True  # not an object of the API: the store keeps any bytes
    try:
        named = _outline(data).metadata
    except (ValueError, RecursionError):
        return False
    told = (named.name or key.name, named.uid or uid, named.resource_version or str(revision))
    return told == (key.name, uid, str(revision))


def _fast(connection: apsw.Connection, digests: bool, since: int, newest: int) -> _Objects | None:
    """None if pointers are damaged, or a table cannot be walked."""
    found = _Objects([], {}, Total(), set(), {})
    columns = ("o.digest", "l.digest") if digests else ("NULL", "NULL")
    try:
        for row in connection.execute(_RECOVER.format(*columns)):
            resource, namespace, name, revision, digest, *version = row
            key = Key(resource, namespace, name)
            if digest is None:
                if type(revision) is not int or revision > since:
                    return None
                found.undigested.add(key)
            elif digest != pointer_digest(key, revision):
                return None
            else:
                found.total.add(digest)
            _take(found, key, revision, tuple(version), since, newest)
    except _UNREADABLE:
        return None
    return _with_heads(found, connection)


def _take(
    found: _Objects, key: Key, revision: int, version: tuple[Any, ...], since: int, newest: int
) -> None:
    entry = version_of(version, key, revision, since)
    if type(entry) is Entry and (version[1] == TOMBSTONE or revision > newest):
        entry = _GONE
    if type(entry) is Entry:
        found.entries.append(entry)
        if key.resource not in found.heads:
            found.heads[key.resource] = head_of(entry.data)
        return
    uid, data = version[0], version[5]
    known = uid if type(uid) is str and uid else UNKNOWN_UID
    standing = stand_in(key, revision, known, str(entry), head_of(data))
    found.damaged[key] = Damaged(standing, str(entry))


def _with_heads(found: _Objects, connection: apsw.Connection) -> _Objects:
    """A stand-in bears the apiVersion and kind of its neighbours, which are sound, and the uid of its versions before:
    that is what nodes know its pod by."""
    for key, damaged in found.damaged.items():
        entry = damaged.entry
        head = found.heads.get(key.resource) or head_of(entry.data)
        uid = _uid_before(connection, key, entry.revision) or entry.uid
        standing = stand_in(key, entry.revision, uid, damaged.why, head)
        found.damaged[key] = msgspec.structs.replace(damaged, entry=standing)
    return found


def _careful(connection: apsw.Connection, digests: bool, since: int) -> _Objects:
    """Each row by itself, and each key from wherever it is still named."""
    pointers, undigested = _sound_pointers(connection, digests, since)
    newest = _newest_in_log(connection)
    settled = _settled(connection) if digests else set()
    found = _Objects([], {}, Total(), set(), {})
    for key in sorted(pointers.keys() | newest.keys()):
        pointed = pointers.get(key, 0)
        logged, code = newest.get(key, (0, 0))
        if logged > pointed:
            row = _row(connection, digests, key, logged)
            sound = type(version_of(row, key, logged, since)) is Entry
            if code == TOMBSTONE and sound:
                continue
            if not pointed and (key, logged) in settled:
                continue
            if sound or not pointed:
                pointed = logged
        revision = pointed
        if key in undigested and pointers.get(key) == revision:
            found.undigested.add(key)
        else:
            found.total.add(pointer_digest(key, revision))
        row = _row(connection, digests, key, revision)
        _take(found, key, revision, row, since, revision)
    return _with_heads(found, connection)


def _sound_pointers(
    connection: apsw.Connection, digests: bool, since: int
) -> tuple[dict[Key, int], set[Key]]:
    pointers: dict[Key, int] = {}
    undigested: set[Key] = set()
    column = "digest" if digests else "NULL"
    for *names, revision, digest in _walk(connection, f"SELECT {_AS_BYTES}, revision, {column} FROM objects"):
        key = _key(names)
        if key is None or type(revision) is not int:
            continue
        if digest is None and revision <= since:
            undigested.add(key)
        elif digest != pointer_digest(key, revision):
            continue
        pointers[key] = revision
    return pointers, undigested


def _newest_in_log(connection: apsw.Connection) -> dict[Key, tuple[int, int]]:
    """Per key its newest revision and what that was: from the index, or from the table where that cannot be walked."""
    newest: dict[Key, tuple[int, int]] = {}
    statement = f"SELECT {_AS_BYTES}, revision, type FROM log {{}}"
    rows = list(_walk(connection, statement.format("INDEXED BY log_by_resource ORDER BY resource, revision")))
    rows += _walk(connection, statement.format("NOT INDEXED WHERE revision > 0 ORDER BY revision"))
    for *names, revision, code in rows:
        key = _key(names)
        if key is not None and type(revision) is int and revision > newest.get(key, (0, 0))[0]:
            newest[key] = (revision, code)
    return newest


def _walk(connection: apsw.Connection, statement: str) -> Iterator[tuple[Any, ...]]:
    """Rows as far as they can be reached."""
    try:
        yield from connection.execute(statement)
    except apsw.CorruptError:
        return


def _row(connection: apsw.Connection, digests: bool, key: Key, revision: int) -> tuple[Any, ...]:
    nothing = (None,) * 7
    try:
        rows: list[Any] = connection.execute(
            _ROW.format("digest" if digests else "NULL"), (revision,)
        ).fetchall()
    except apsw.CorruptError:
        return (UNKNOWN_UID, 0, 0, 0.0, -1, b"", 0)
    if not rows or _key(rows[0][:3]) != key:
        return nothing
    uid = rows[0][3].decode(errors="replace") if type(rows[0][3]) is bytes else rows[0][3]
    return (uid, *rows[0][4:])


def _uid_before(connection: apsw.Connection, key: Key, revision: int) -> str:
    """The uid of the version that a damaged one replaced, if it replaced one that is still there."""
    statement = (
        "SELECT CAST(uid AS BLOB), type FROM log WHERE resource = ? AND revision < ? AND namespace = ? AND name = ?"
        " ORDER BY revision DESC LIMIT 1"
    )
    try:
        rows: list[Any] = connection.execute(
            statement, (key.resource, revision, key.namespace, key.name)
        ).fetchall()
    except apsw.CorruptError:
        return ""
    if not rows or rows[0][1] == TOMBSTONE or type(rows[0][0]) is not bytes:
        return ""
    return str(rows[0][0].decode(errors="replace"))


def _key(names: Any) -> Key | None:
    try:
        resource, namespace, name = (each.decode() for each in names)
    except (AttributeError, UnicodeDecodeError):
        return None
    return Key(resource, namespace, name)


def _pointers(found: _Objects) -> set[tuple[Key, int]]:
    every = [*found.entries, *[each.entry for each in found.damaged.values()]]
    return {(entry.key, entry.revision) for entry in every}


def _floors(connection: apsw.Connection, digests: bool) -> tuple[dict[str, int], Total, bool]:
    """The floors, what their digests add up to, and whether each is what was written."""
    floors: dict[str, int] = {}
    total = Total()
    sound = True
    column = "digest" if digests else "NULL"
    for name, floor, swept, digest in connection.execute(
        f"SELECT CAST(resource AS BLOB), floor, swept, {column} FROM floors"
    ):
        if type(name) is not bytes:  # a page that is no longer one of this table
            sound = False
            continue
        resource = name.decode(errors="replace")
        if digests and digest != floor_digest(resource, floor, swept):
            sound = False
            continue
        floors[resource] = floor
        total.add(digest or 0)
    return floors, total, sound


def _lost(connection: apsw.Connection) -> tuple[Lost, ...]:
    rows: list[Any] = connection.execute(
        "SELECT after, until, CAST(why AS BLOB), at FROM lost ORDER BY after"
    ).fetchall()
    return tuple([Lost(after, until, why.decode(errors="replace"), at) for after, until, why, at in rows])


def _known_since(connection: apsw.Connection) -> dict[tuple[Key, int], float]:
    return {
        (key, revision): since
        for *names, revision, since in _walk(connection, f"SELECT {_AS_BYTES}, revision, since FROM damaged")
        if (key := _key(names)) is not None
    }


def _settled(connection: apsw.Connection) -> set[tuple[Key, int]]:
    """Damaged versions of objects that people have deleted since."""
    return {
        (key, revision)
        for *names, revision in _walk(connection, f"SELECT {_AS_BYTES}, revision FROM damaged WHERE resolved")
        if (key := _key(names)) is not None
    }

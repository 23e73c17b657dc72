"""Digests for objects that are older than digests: a few at a time, while the server runs.

Part of `sqlite.py`, which calls it with each compaction, inside its transaction. Objects that are not sound stay as
they are: a digest would say that they were written so.
"""

from __future__ import annotations

import itertools
from collections.abc import Container
from typing import Any

import apsw

from fairlead.model.key import Key
from fairlead.store.contract import Entry
from fairlead.store.digests import pointer_digest, version_digest
from fairlead.store.recovery import version_of
from fairlead.store.seal import Seal

UPGRADED_AT_ONCE = 256  # objects of an older format that get their digest in one transaction

_UNDIGESTED = (
    "SELECT o.revision, l.uid, l.type, l.previous, l.at, l.size, l.data FROM objects o JOIN log l USING (revision)"
    " WHERE o.resource = ? AND o.namespace = ? AND o.name = ? AND o.digest IS NULL AND l.digest IS NULL"
)


def digest_some(
    connection: apsw.Connection, seal: Seal, undigested: set[Key], damaged: Container[Key]
) -> None:
    """Takes those that it is done with from `undigested`."""
    for key in list(itertools.islice(undigested, UPGRADED_AT_ONCE)):
        undigested.discard(key)
        rows: list[Any] = connection.execute(_UNDIGESTED, key).fetchall()
        for revision, *version in rows:
            entry = version_of((*version, None), key, revision, seal.since)
            if key in damaged or not isinstance(entry, Entry):
                continue
            uid, code, previous, at, _, data = version
            digest = version_digest(revision, key, uid, code, previous, repr(at), data)
            pointer = pointer_digest(key, revision)
            seal.log.add(digest)
            seal.objects.add(pointer)
            connection.execute("UPDATE log SET digest = ? WHERE revision = ?", (digest, revision))
            connection.execute(
                "UPDATE objects SET digest = ? WHERE resource = ? AND namespace = ? AND name = ?",
                (pointer, *key),
            )

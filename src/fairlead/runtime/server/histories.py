"""The store's history as `fairlead incident capture` asks for it, page by page, with secrets taken out.

GET /fairlead/v1/history?since=TIME
    versions and flags, the revision of that time, and which resources there are
GET /fairlead/v1/history/RESOURCE?start=REVISION&key=HEX[&also=configmaps,env][&offset=N | &after=REVISION]
    its objects at `start`, then its changes since, a page at a time

Whoever may read the document as such reads all of it: it holds the objects of every namespace, so nothing of it is for
tenants. Mounted by `mounting.py`; given by `answering.py`. `key` is drawn by who captures, one for all pages. What
hides secrets is made of it, of what this server drew for itself, and of the namespace: who may read all but Secrets can
try out no value, with a key of their own or by a Secret that they made in a namespace of theirs. Equal ones stay equal
within a namespace, and in the pages of one server.
"""

from __future__ import annotations

import platform
import secrets
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

import fairlead
from fairlead.api.access.sight import Sight
from fairlead.api.plan import Context
from fairlead.core.errors import BadRequest, NotFound
from fairlead.core.times import parse_time
from fairlead.explain.asking import Asking
from fairlead.model.catalog import Catalog
from fairlead.port.query import parse_whole
from fairlead.replay.redaction import ALSO, CAPTURE_KEY_BYTES_MAX, redact
from fairlead.runtime.server.answering import Answering
from fairlead.store.contract import CommittedChange, Compacted, Entry, Journal
from fairlead.store.instants import revision_at
from fairlead.store.machine import Store
from fairlead.wire.documents import Extension, Later

HISTORY = "/fairlead/v1/history"
#: bound: plane | bytes of history in one answer, about | the rest is asked for with `offset` or `after`
HISTORY_PAGE_BYTES_MAX = 4 * 1024 * 1024
_CHANGES = 1_000
Json = dict[str, Any]


class _Taken(NamedTuple):
    """How secrets are taken out."""

    key: bytes
    also: frozenset[str]

    def of(self, namespace: str) -> bytes:
        return blake2b(namespace.encode(), key=self.key).digest()


def histories(store: Store, journal: Journal, catalog: Catalog, answering: Answering) -> Extension:
    own = secrets.token_bytes(CAPTURE_KEY_BYTES_MAX)

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Later:
        parts = path.removeprefix(HISTORY).split("/")[1:]
        if not parts:
            return answering.later(_facts(store, journal, catalog, query.get("since", "")))
        if len(parts) != 1 or catalog.of_resource(parts[0]) is None:
            raise NotFound(f"ask for {HISTORY}/RESOURCE, as in pods or deployments.apps")
        key, start = blake2b(_key(query), key=own).digest(), parse_whole(query, "start") or 0
        after = parse_whole(query, "after") or 0
        offset = parse_whole(query, "offset") or 0
        also = frozenset(filter(None, query.get("also", "").split(",")))
        if unknown := sorted(also.difference(ALSO)):
            raise BadRequest(f"query parameter also: {', '.join(unknown)}: there are {', '.join(ALSO)}")
        return answering.later(_page(store, parts[0], start, offset, after, _Taken(key, also)))

    return answer


def _key(query: Mapping[str, str]) -> bytes:
    try:
        key = bytes.fromhex(query.get("key", ""))
    except ValueError:
        key = b""
    if not 0 < len(key) <= CAPTURE_KEY_BYTES_MAX:
        raise BadRequest(f"query parameter key: 1 to {CAPTURE_KEY_BYTES_MAX} bytes in hex digits are needed")
    return key


def _facts(store: Store, journal: Journal, catalog: Catalog, since: str) -> Asking[Json]:
    try:
        instant = parse_time(since)
    except ValueError as error:
        raise BadRequest(f"query parameter since: {error}") from None
    found = revision_at(journal, store.revision, instant)
    yield None
    return {
        "fairlead": fairlead.__version__,
        "python": platform.python_version(),
        # Nothing so old is kept: then from the oldest that is, which the floors tell page by page.
        "revision": found.revision if found is not None else 1,
        "resources": sorted({kind.resource for kind in catalog}),
    }


def _page(store: Store, resource: str, start: int, offset: int, after: int, key: _Taken) -> Asking[Json]:
    """Objects come first: `after` says that they have all been given."""
    start = max(start, store.floor(resource))
    told: Json = {"start": start, "end": store.revision}
    objects: Sequence[Entry] = ()
    if not after:
        try:
            objects = store.list_at(resource, "", start)
        except Compacted as error:
            start = told["start"] = error.floor
            objects = store.list_at(resource, "", start)
        yield None
        taken = _first(objects[offset:])
        told["objects"] = yield lambda: [_told(each, key) for each in objects[offset : offset + taken]]
        if offset + taken < len(objects):
            return told | {"next": {"offset": offset + taken}}
    changes = store.changes_after(max(start, after), resource, _CHANGES)
    yield None
    taken = _first([each.entry for each in changes])
    page = changes[:taken]
    told["changes"] = yield lambda: [_change(each, key) for each in page]
    if taken < len(changes) or len(changes) == _CHANGES:
        told["next"] = {"after": page[-1].entry.revision}
    return told


def _first(entries: Sequence[Entry]) -> int:
    """How many of them one page takes; at least one."""
    size = 0
    for number, entry in enumerate(entries):
        size += len(entry.data)
        if size > HISTORY_PAGE_BYTES_MAX:
            return max(1, number)
    return len(entries)


def _told(entry: Entry, key: _Taken) -> list[Any]:
    data = msgspec.Raw(redact(entry.key.resource, entry.data, key.of(entry.key.namespace), key.also))
    return [entry.key.namespace, entry.key.name, entry.uid, entry.revision, data]


def _change(change: CommittedChange, key: _Taken) -> list[Any]:
    return [change.type, *_told(change.entry, key)]

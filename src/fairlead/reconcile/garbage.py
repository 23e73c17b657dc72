"""Garbage collection: what owners leave behind goes, waits, or is set free, as the deletion asked.

    Background   the owner goes at once; each dependent follows once all its owners are gone
    Foreground   dependents that block go first; then the owner's finalizer is taken off
    Orphan       dependents lose the reference; then the owner's finalizer is taken off

`decide` reads durable state and gives requests to the API, each bound to the uid and revision it was decided on,
so that a namesake is never taken for the one that was meant. Called for one key at a time; deciding again is safe.
"""

from __future__ import annotations

from fairlead.core import codec
from fairlead.model.catalog import Catalog
from fairlead.model.kind import Json, Kind
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.reconcile.ownership import Meta, OwnerIndex, meta_of, owner_key
from fairlead.store.contract import Entry, Key, Reader

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
# Requests decided at a time: the rest is decided again once these are done.
STEP_MAX = 64


def decide(read: Reader, index: OwnerIndex, catalog: Catalog, key: Key) -> list[Request]:
    """What to ask of the API because of the object at this key; nothing if it is as it should be."""
    entry = read.get(key)
    kind = catalog.of_resource(key.resource)
    if entry is None or kind is None:
        return []
    meta = meta_of(entry)
    if meta.deletion_timestamp:
        if ORPHAN in meta.finalizers:
            return _set_free(read, index, catalog, kind, entry, meta)
        if FOREGROUND in meta.finalizers:
            return _take_along(read, index, catalog, kind, entry, meta)
        return []
    return _follow_owners(read, catalog, kind, entry, meta)


def _follow_owners(read: Reader, catalog: Catalog, kind: Kind, entry: Entry, meta: Meta) -> list[Request]:
    """A dependent goes when none of its owners is left, in the way the last of them was deleted."""
    if not meta.owner_references:
        return []
    gone, blocking = [], False
    for owner in meta.owner_references:
        key = owner_key(catalog, owner, meta.namespace)
        if key is None:
            continue  # a kind that we do not serve: not ours to judge
        current = read.get(key)
        if current is None or current.uid != owner.uid:
            gone.append(owner.uid)
        elif b'"deletionTimestamp"' in current.data:
            its = meta_of(current)
            if FOREGROUND in its.finalizers and its.deletion_timestamp:
                gone.append(owner.uid)
                blocking = True
    if not gone:
        return []
    if len(gone) == len(meta.owner_references):
        return [_delete(kind, entry, "Foreground" if blocking else "Background")]
    if blocking:
        return []
    return [_without_owners(kind, entry, frozenset(gone))]


def _take_along(
    read: Reader, index: OwnerIndex, catalog: Catalog, kind: Kind, entry: Entry, meta: Meta
) -> list[Request]:
    requests, blocked = [], False
    for key in index.dependents(entry.uid):
        dependent, its_kind = read.get(key), catalog.of_resource(key.resource)
        if dependent is None or its_kind is None:
            continue
        its = meta_of(dependent)
        blocked = blocked or any(o.uid == entry.uid and o.block_owner_deletion for o in its.owner_references)
        if not its.deletion_timestamp:
            requests += _follow_owners(read, catalog, its_kind, dependent, its)
    if requests:
        return requests[:STEP_MAX]
    return [] if blocked else [_without_finalizer(kind, entry, meta, FOREGROUND)]


def _set_free(
    read: Reader, index: OwnerIndex, catalog: Catalog, kind: Kind, entry: Entry, meta: Meta
) -> list[Request]:
    requests = []
    for key in index.dependents(entry.uid)[:STEP_MAX]:
        dependent, its_kind = read.get(key), catalog.of_resource(key.resource)
        if dependent is not None and its_kind is not None:
            requests.append(_without_owners(its_kind, dependent, frozenset({entry.uid})))
    return requests or [_without_finalizer(kind, entry, meta, ORPHAN)]


def _delete(kind: Kind, entry: Entry, policy: str) -> Request:
    options = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": policy,
        "preconditions": {"uid": entry.uid, "resourceVersion": str(entry.revision)},
    }
    return _request("delete", kind, entry.key, codec.encode(options))


def _without_owners(kind: Kind, entry: Entry, gone: frozenset[str]) -> Request:
    references = codec.decode(entry.data)["metadata"]["ownerReferences"]
    left = [reference for reference in references if reference["uid"] not in gone]
    return _patch(kind, entry, {"ownerReferences": left or None})


def _without_finalizer(kind: Kind, entry: Entry, meta: Meta, name: str) -> Request:
    left = [finalizer for finalizer in meta.finalizers if finalizer != name]
    return _patch(kind, entry, {"finalizers": left or None})


def _patch(kind: Kind, entry: Entry, metadata: Json) -> Request:
    bound = {"uid": entry.uid, "resourceVersion": str(entry.revision), **metadata}
    return _request("patch", kind, entry.key, codec.encode({"metadata": bound}), MERGE_PATCH)


def _request(verb: str, kind: Kind, key: Key, body: bytes, content_type: str = "application/json") -> Request:
    return Request(
        verb,
        kind.group,
        kind.version,
        kind.plural,
        key.namespace,
        key.name,
        body=body,
        content_type=content_type,
    )

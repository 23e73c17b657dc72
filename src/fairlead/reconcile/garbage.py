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
from fairlead.model.metadata import FOREGROUND, ORPHAN
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.reconcile.ownership import Meta, OwnerIndex, is_deleting, meta_of, owner_key
from fairlead.store.contract import Entry, Key, Reader

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
    """A dependent goes when none of its owners is left, in the way the last of them was deleted. One that has an
    owner left loses its references to the others, so that none of them waits for it in vain."""
    gone, waiting = [], False
    for owner in meta.owner_references:
        key = owner_key(catalog, owner, meta.namespace)
        if key is None:
            continue  # not ours to judge
        current = read.get(key)
        if current is None or current.uid != owner.uid:
            gone.append(owner.uid)
        elif _is_foreground(current):
            gone.append(owner.uid)
            waiting = True
    if not gone:
        return []
    if len(gone) == len(meta.owner_references):
        return [_delete(kind, entry, "Foreground" if waiting else "")]
    return [_without_owners(kind, entry, frozenset(gone))]


def _take_along(
    read: Reader, index: OwnerIndex, catalog: Catalog, kind: Kind, entry: Entry, meta: Meta
) -> list[Request]:
    requests = []
    for key in index.dependents(entry.uid):
        dependent, its_kind = read.get(key), catalog.of_resource(key.resource)
        if dependent is not None and its_kind is not None and not is_deleting(dependent):
            requests += _follow_owners(read, catalog, its_kind, dependent, meta_of(dependent))
            if len(requests) >= STEP_MAX:
                break
    if requests:
        return requests
    for key in _blocking(read, index, catalog, entry):
        if not _waits_for(read, index, catalog, key, entry.key):
            return []
    return [_without_finalizer(kind, entry, meta, FOREGROUND)]


def _is_foreground(entry: Entry) -> bool:
    """Deleted, and waiting for its dependents."""
    return is_deleting(entry) and FOREGROUND in meta_of(entry).finalizers


def _blocking(read: Reader, index: OwnerIndex, catalog: Catalog, owner: Entry) -> list[Key]:
    """The dependents that an owner deleted in the foreground waits for."""
    return [
        key
        for key in index.dependents(owner.uid)
        if (dependent := read.get(key)) is not None
        and any(
            reference.uid == owner.uid
            and reference.block_owner_deletion
            and owner_key(catalog, reference, key.namespace) == owner.key
            for reference in meta_of(dependent).owner_references
        )
    ]


def _waits_for(read: Reader, index: OwnerIndex, catalog: Catalog, start: Key, goal: Key) -> bool:
    """Whether one deletion in the foreground waits for another, also through others in between. Two that wait for
    each other would wait for ever."""
    pending, seen = [start], {start}
    while pending:
        key = pending.pop()
        if key == goal:
            return True
        entry = read.get(key)
        if entry is not None and _is_foreground(entry):
            found = [each for each in _blocking(read, index, catalog, entry) if each not in seen]
            pending += found
            seen.update(found)
    return False


def _set_free(
    read: Reader, index: OwnerIndex, catalog: Catalog, kind: Kind, entry: Entry, meta: Meta
) -> list[Request]:
    requests = []
    for key in index.dependents(entry.uid):
        dependent, its_kind = read.get(key), catalog.of_resource(key.resource)
        if dependent is not None and its_kind is not None:
            requests.append(_without_owners(its_kind, dependent, frozenset({entry.uid})))
            if len(requests) == STEP_MAX:
                break
    return requests or [_without_finalizer(kind, entry, meta, ORPHAN)]


def _delete(kind: Kind, entry: Entry, policy: str) -> Request:
    """Without a policy its own finalizers say what becomes of those that it owns in turn."""
    options = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": entry.uid, "resourceVersion": str(entry.revision)},
        **({"propagationPolicy": policy} if policy else {}),
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

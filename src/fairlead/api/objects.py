"""From stored bytes to JSON trees and back. Used by every verb.

Stored bytes begin with apiVersion, kind and metadata.resourceVersion, in that order, so that the store can
write the revision it gives at commit without decoding anything.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from fairlead.model.kind import Json, Kind
from fairlead.store.contract import Delete, Entry, Key, Put

_encode = msgspec.json.encode
_IN_HEAD = ("apiVersion", "kind")
_HEADS_KEPT = 256
_NAMED = ("name", "namespace", "uid", "resourceVersion")
_tree = msgspec.json.Decoder(dict[str, Any]).decode


def tree(entry: Entry) -> Json:
    """A fresh, changeable JSON tree of a stored version."""
    return _tree(entry.data)


def key_of(kind: Kind, namespace: str, name: str) -> Key:
    return Key(kind.resource, namespace if kind.namespaced else "", name)


def parts(kind: Kind, obj: Json, spec: msgspec.Raw | None = None) -> tuple[bytes, bytes]:
    """The bytes before and after the revision. `spec`: its bytes, if they are known."""
    rest = obj.copy()
    if spec is not None:
        rest["spec"] = spec
    metadata: Json = rest.pop("metadata")
    for name in _IN_HEAD:
        rest.pop(name, None)
    if "resourceVersion" in metadata:
        metadata = metadata.copy()
        del metadata["resourceVersion"]
    head, encoded = _head(kind.api_version, kind.kind), _encode(metadata)
    if not rest:
        return head, b'",%b}' % encoded[1:]
    return head, b'",%b,%b' % (encoded[1:], _encode(rest)[1:])


@lru_cache(maxsize=_HEADS_KEPT)
def _head(api_version: str, kind: str) -> bytes:
    return f'{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"resourceVersion":"'.encode()


def put(kind: Kind, key: Key, obj: Json, spec: msgspec.Raw | None = None) -> Put:
    head, tail = parts(kind, obj, spec)
    return Put(key, obj["metadata"]["uid"], head, tail)


def delete(kind: Kind, key: Key, obj: Json, spec: msgspec.Raw | None = None) -> Delete:
    head, tail = parts(kind, obj, spec)
    return Delete(key, obj["metadata"]["uid"], head, tail)


def preview(kind: Kind, obj: Json, revision: int | None) -> bytes:
    """The bytes as they would be stored: what a dry run shows. A new object has no revision yet."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    if revision is not None:
        metadata["resourceVersion"] = str(revision)
    top = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    return _encode({**top, **{name: value for name, value in obj.items() if name not in top}})


def named_by(asked: Json, old: Json) -> Json:
    """A copy of the old object that bears the name, uid and revision which another object gives for it."""
    given = asked.get("metadata") or {}
    named = {field: given[field] for field in _NAMED if given.get(field)}
    return {**old, "metadata": {**old["metadata"], **named}}


def is_finished(obj: Json) -> bool:
    """Deleted, grace over, nobody has a finalizer on it: it may go."""
    metadata = obj["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        # Elsewhere such a field means nothing, and nothing could ever take its entries away.
        and not (obj["kind"] == "Namespace" and (obj.get("spec") or {}).get("finalizers"))
    )

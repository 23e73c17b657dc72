"""From stored bytes to JSON trees and back. Used by every verb.

Stored bytes begin with apiVersion, kind and metadata.resourceVersion, in that order, so that the store can write the
revision it gives at commit without decoding anything. metadata.managedFields comes next, each entry with fieldsType at
its end: it is large, most writes need not look into it, and so it can be cut out unread (`split_managed`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from fairlead.model.apply.elements import UndecodableError
from fairlead.model.apply.managers import entries_of, managed_fields
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.store.contract import Entry, Put, Remove

_encode = msgspec.json.encode
_IN_HEAD = ("apiVersion", "kind")
_HEADS_KEPT = 256
_NAMED = ("name", "namespace", "uid", "resourceVersion")
_REVISION = b'"metadata":{"resourceVersion":"'
_MANAGED = b',"managedFields":['
# Quotation marks inside of texts are escaped: this cannot be part of one.
_MANAGED_END = b'"fieldsType":"FieldsV1"}]'
_LAST = ("fieldsType", "FieldsV1")
_tree = msgspec.json.Decoder(dict[str, Any]).decode


def tree(entry: Entry) -> Json:
    """A fresh, changeable JSON tree of a stored version."""
    return _tree(entry.data)


def after_revision(data: bytes) -> int:
    """Where what follows the revision begins in a stored version."""
    return data.find(b'"', data.find(_REVISION) + len(_REVISION))


def split_managed(data: bytes) -> tuple[bytes, bytes]:
    """A stored version without its managedFields, and those; b"" if it has none."""
    at = after_revision(data) + 1
    if not data.startswith(_MANAGED, at):
        return data, b""
    end = data.find(b"]", at) + 1  # one byte is looked for faster than many
    while not data.endswith(_MANAGED_END, at, end):
        end = data.find(b"]", end) + 1
        if not end:
            return data, b""
    return data[:at] + data[end:], data[at + len(_MANAGED) - 1 : end]


def plain(entry: Entry) -> tuple[Json, bytes]:
    """A fresh, changeable JSON tree without managedFields, and those as they are stored."""
    rest, managed = split_managed(entry.data)
    found = _tree(rest)
    if not managed and "managedFields" in found["metadata"]:  # not of our making
        managed = _managed(found["metadata"].pop("managedFields"))
    return found, managed


def _managed(entries: list[Json]) -> bytes:
    """The list as bytes. What was not written by this server, or cannot be read, is put into its form."""
    if not entries:
        return b""
    if not all(entry and next(reversed(entry.items())) == _LAST for entry in entries):
        try:
            entries = managed_fields(entries_of(entries))
        except UndecodableError:
            return b""
    return _encode(entries)


def key_of(kind: Kind, namespace: str, name: str) -> Key:
    return Key(kind.resource, namespace if kind.namespaced else "", name)


def parts(
    kind: Kind, obj: Json, spec: msgspec.Raw | None = None, managed: bytes = b""
) -> tuple[bytes, bytes]:
    """The bytes before and after the revision. `spec`: its bytes, if they are known; `managed`: those of
    managedFields, where they are not in the tree."""
    rest = kind.as_stored(obj).copy() if kind.conversions else obj.copy()
    if spec is not None:
        rest["spec"] = spec
    metadata: Json = rest.pop("metadata")
    for name in _IN_HEAD:
        rest.pop(name, None)
    if "resourceVersion" in metadata or "managedFields" in metadata:
        metadata = metadata.copy()
        metadata.pop("resourceVersion", None)
        given = metadata.pop("managedFields", None)
        if given and not managed:
            managed = _managed(given)
    head, encoded = _head(kind.stored_api_version, kind.kind), _encode(metadata)
    begin = b'","managedFields":%b' % managed if managed else b'"'
    if not rest:
        return head, b"%b,%b}" % (begin, encoded[1:])
    return head, b"%b,%b,%b" % (begin, encoded[1:], _encode(rest)[1:])


@lru_cache(maxsize=_HEADS_KEPT)
def _head(api_version: str, kind: str) -> bytes:
    return f'{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"resourceVersion":"'.encode()


def put(kind: Kind, key: Key, obj: Json, spec: msgspec.Raw | None = None, managed: bytes = b"") -> Put:
    head, tail = parts(kind, obj, spec, managed)
    return Put(key, obj["metadata"]["uid"], head, tail)


def delete(kind: Kind, key: Key, obj: Json, spec: msgspec.Raw | None = None, managed: bytes = b"") -> Remove:
    head, tail = parts(kind, obj, spec, managed)
    return Remove(key, obj["metadata"]["uid"], head, tail)


def removal(entry: Entry) -> Remove:
    """As it is stored."""
    data = entry.data
    return Remove(
        entry.key, entry.uid, data[: data.find(_REVISION) + len(_REVISION)], data[after_revision(data) :]
    )


def preview(kind: Kind, obj: Json, revision: int | None, managed: bytes = b"") -> bytes:
    """The bytes as they would be stored: what a dry run shows. A new object has no revision yet."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    if revision is not None:
        metadata["resourceVersion"] = str(revision)
    if managed:
        metadata["managedFields"] = msgspec.Raw(managed)
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
        and not (
            (obj["apiVersion"], obj["kind"]) == ("v1", "Namespace")
            and (obj.get("spec") or {}).get("finalizers")
        )
    )

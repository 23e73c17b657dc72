"""Objects as bytes with their spec apart, which is left as it is: bodies of creates, and stored objects.

Where a spec is known (`model/specs.py`) nothing has to be decoded of it. `verbs/create.py`, `verbs/patch.py` and
`subresources/binding.py` ask here first and go the long way where the answer is None, which is also the only one that
refuses anything.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from fairlead.api import objects
from fairlead.core import codec
from fairlead.model.kind import Json, Kind
from fairlead.store.contract import Entry

_NOTHING, _EMPTY = msgspec.Raw(), msgspec.Raw(b"{}")


class SplitBody(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, rename="camel"):
    """An object that is to be created, its spec as it came."""

    metadata: dict[str, Any]
    spec: msgspec.Raw
    api_version: str = ""
    kind: str = ""
    status: msgspec.Raw = _NOTHING


class SplitObject(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, rename="camel"):
    """A stored object of which the spec is left as it is."""

    api_version: str
    kind: str
    metadata: dict[str, Any]
    spec: msgspec.Raw
    status: msgspec.Raw

    def tree(self, spec: Json) -> Json:
        """All of it, with this for its spec."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": self.metadata,
            "spec": spec,
            "status": _tree(self.status),
        }


_peel = msgspec.json.Decoder(SplitBody).decode
_open = msgspec.json.Decoder(SplitObject).decode
_tree = msgspec.json.Decoder(dict[str, Any]).decode


def split_body(body: bytes, kind: Kind) -> SplitBody | None:
    """The parts of an object that is to be created; None where there is more to say of it than that."""
    if body.count(b"[") + body.count(b"{") > codec.DEPTH_MAX or b"\\u0022" in body:
        return None
    try:
        parts = _peel(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    marks = 4
    for given, expected in ((parts.api_version, kind.api_version), (parts.kind, kind.kind)):
        if given:
            marks += 4
            if given != expected:
                return None
    if parts.status != _NOTHING:
        marks += 2
        if parts.status != _EMPTY:
            return None
    # A field that was given twice is encoded once, and its quotation marks are left over (`core/codec.py`).
    marks += codec.encode(parts.metadata).count(b'"') + bytes(parts.spec).count(b'"')
    return parts if body.count(b'"') == marks else None


class SplitEntry(NamedTuple):
    opened: SplitObject
    managed: bytes  # its managedFields, which are not in there


def split_entry(entry: Entry) -> SplitEntry | None:
    """A stored object with a spec and a status, in this order, as most have them; None for others."""
    data, managed = objects.split_managed(entry.data)
    try:
        found = _open(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if "managedFields" in found.metadata:
        return None
    return (
        SplitEntry(found, managed)
        if data.endswith(b'},"spec":%b,"status":%b}' % (found.spec, found.status))
        else None
    )

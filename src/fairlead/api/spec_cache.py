"""A cache by spec: an object whose spec is, byte for byte, one that was seen before gets what was found out then.

Pods are made by the thousand from one template, and a pod is written several times while its spec stays as it is. In
kinds that say so (`Kind.beside_spec`) the spec stands alone: its structure, defaults, validation and warnings depend on
nothing else. The same holds for what some steps of admission make of it, except for the resources that these steps name
(`AdmissionStep.of_spec`). `verbs/create.py`, `verbs/patch.py` and `subresources/binding.py` ask here first and go the
long way otherwise, which is also the only one that refuses anything.

Trees of specs that are handed out are shared: nobody changes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from fairlead.api import objects
from fairlead.core import codec
from fairlead.core.kept import BoundedDict
from fairlead.model.fields import FieldTables
from fairlead.model.kind import Json, Kind
from fairlead.model.pod_decoder import split_node
from fairlead.model.shapes import fits
from fairlead.store.contract import Entry

_KEPT = 256
_BYTES_MAX = 8 * 1024  # of a spec that is kept
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


class CachedSpec(msgspec.Struct, frozen=True):
    """What a spec of a new object became."""

    spec: Json
    encoded: msgspec.Raw
    status: Json
    fields: bytes  # which fields of the spec its author came to own (`api/apply/managing.py`)
    warnings: tuple[str, ...]
    rests_on: tuple[Sequence[Entry], ...]  # what admission looked at; another list is another answer


_peel = msgspec.json.Decoder(SplitBody).decode
_open = msgspec.json.Decoder(SplitObject).decode
_tree = msgspec.json.Decoder(dict[str, Any]).decode


class SpecCache:
    """One per desk. Bounded: the oldest go."""

    __slots__ = ("_settled", "_taken")

    def __init__(self) -> None:
        self._taken: BoundedDict[tuple[str, str, bytes], CachedSpec] = BoundedDict(_KEPT)
        self._settled: BoundedDict[tuple[str, bytes], Json | None] = BoundedDict(_KEPT)

    # New objects

    def find(
        self, kind: Kind, namespace: str, spec: msgspec.Raw, rests_on: tuple[Sequence[Entry], ...]
    ) -> CachedSpec | None:
        found = self._taken.get((kind.resource, namespace, bytes(spec)))
        if found is None:
            return None
        # A list that nothing was changed in is the same one (`store/objects.py`).
        for then, now in zip(found.rests_on, rests_on, strict=True):
            if then is not now:
                return None
        return found

    def keep(
        self,
        kind: Kind,
        namespace: str,
        came: msgspec.Raw,
        new: Json,
        fields: bytes,
        rests_on: tuple[Sequence[Entry], ...],
    ) -> None:
        """`new` was admitted with a spec that came like this, and nothing is wrong with it."""
        given, encoded = bytes(came), codec.encode(new["spec"])
        if len(given) > _BYTES_MAX or len(encoded) > _BYTES_MAX:
            return
        spec = _tree(encoded)
        warnings = tuple(kind.warnings({"metadata": {}, "spec": spec}))
        status = codec.clone(new["status"])
        taken = CachedSpec(
            spec=spec,
            encoded=msgspec.Raw(encoded),
            status=status,
            fields=fields,
            warnings=warnings,
            rests_on=rests_on,
        )
        self._taken.keep((kind.resource, namespace, given), taken)

    # Stored objects

    def find_stored(self, tables: FieldTables, kind: Kind, encoded: msgspec.Raw) -> Json | None:
        """The tree of a stored spec whose structure is right and which defaults would leave as it is; None: not so.

        The node, which a binding adds at the end, makes no difference to either.
        """
        rest, node = split_node(bytes(encoded))
        spec = self._settled_spec(tables, kind, rest)
        return {**spec, "nodeName": node.decode()} if spec is not None and node else spec

    def _settled_spec(self, tables: FieldTables, kind: Kind, encoded: bytes) -> Json | None:
        settled = self._settled
        key = (kind.resource, encoded)
        if key in settled:
            return settled[key]
        if len(encoded) > _BYTES_MAX:
            return None
        spec = _tree(encoded)
        whole = {"metadata": {}, "spec": _tree(encoded)}
        known = fits(tables, kind.schema, whole)
        if known:
            kind.defaults(whole)
            known = codec.encode(whole["spec"]) == encoded
        return settled.keep(key, spec if known else None)


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

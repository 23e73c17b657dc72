"""Objects as clients want to see them: whole, as rows of a Table (`kubectl get`), or metadata only."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.api.forms import Form, included_of, negotiate
from fairlead.model.cells import age
from fairlead.model.kind import Column, Json, Kind
from fairlead.port.request import Reply, Request
from fairlead.store.damage import is_stand_in

_encode = msgspec.json.encode
_tree = msgspec.json.Decoder(dict[str, Any]).decode
DAMAGED = "<damaged>"
_AGE = Column("Age", age, description="Time since the object was created.")


class _Metadata(msgspec.Struct, gc=False):
    metadata: msgspec.Raw


_metadata = msgspec.json.Decoder(_Metadata).decode


def metadata_form(data: bytes, meta: str) -> bytes:
    """PartialObjectMetadata: the metadata alone, byte for byte. `meta` is its apiVersion."""
    return b'{"kind":"PartialObjectMetadata","apiVersion":"%b","metadata":%b}' % (
        meta.encode(),
        bytes(_metadata(data).metadata),
    )


def render_one(
    request: Request, kind: Kind, data: bytes, now: float, status: int, warnings: tuple[str, ...]
) -> Reply:
    form, _, meta = negotiate(request)
    if kind.presented is not None:
        data = kind.presented(data)
    if form is Form.TABLE:
        revision = _tree(data)["metadata"].get("resourceVersion", "")
        included = included_of(request)
        data = table_of(kind, [data], {"resourceVersion": revision}, included, now, meta, headings=True)
    elif form is Form.METADATA:
        data = metadata_form(data, meta)
    return Reply(status, data, warnings=warnings)


def table_of(
    kind: Kind, items: list[bytes], metadata: Json, include: str, now: float, meta: str, *, headings: bool
) -> bytes:
    """A Table of meta.k8s.io in the version that `meta` names. Watches send the headings only once."""
    columns = kind.columns or (_AGE,)
    rows = [_row(columns, data, include, now, meta) for data in items]
    head: Json = {"kind": "Table", "apiVersion": meta, "metadata": metadata}
    head["columnDefinitions"] = _headings(columns) if headings else None
    return _encode(head)[:-1] + b',"rows":[' + b",".join(rows) + b"]}"


def bookmark_table(kind: Kind, metadata: Json, meta: str) -> Json:
    """A bookmark among Tables: one row without cells' values, whose object tells the revision."""
    columns = kind.columns or (_AGE,)
    mark = {"kind": "PartialObjectMetadata", "apiVersion": meta, "metadata": metadata}
    return {
        "kind": "Table",
        "apiVersion": meta,
        "metadata": {"resourceVersion": metadata["resourceVersion"]},
        "columnDefinitions": None,
        "rows": [{"cells": [""] * len(_headings(columns)), "object": mark}],
    }


def _headings(columns: tuple[Column, ...]) -> list[Json]:
    name = {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": "Name of the object.",
        "priority": 0,
    }
    rest = [
        {
            "name": c.name,
            "type": c.type,
            "format": c.format,
            "description": c.description,
            "priority": c.priority,
        }
        for c in columns
    ]
    return rest if any(c.name == "Name" for c in columns) else [name, *rest]


def _row(columns: tuple[Column, ...], data: bytes, include: str, now: float, meta: str) -> bytes:
    obj = _tree(data)
    if is_stand_in(data):
        cells: list[Any] = [
            obj["metadata"]["name"] if column.name == "Name" else DAMAGED for column in columns
        ]
    else:
        cells = [column.cell(obj, now) for column in columns]
    if not any(column.name == "Name" for column in columns):
        cells.insert(0, obj["metadata"]["name"])
    row = b'{"cells":' + _encode(cells)
    if include == "Metadata":
        return row + b',"object":' + metadata_form(data, meta) + b"}"
    if include == "Object":
        return row + b',"object":' + data + b"}"
    return row + b"}"

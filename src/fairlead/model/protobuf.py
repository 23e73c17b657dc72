"""Objects in Kubernetes' protobuf form, read into JSON trees by the numbers of the field tables.

kubectl's own commands (`create namespace`, `auth can-i`, ...) and clients written in Go send their bodies in this
form and know no other; they accept JSON in return. `api/body.py` calls `read`; the tree that comes out is
checked like any other. A field that the tables have no number for is refused, never dropped.

The form: the four bytes `k8s\\0`, then a message with the object's apiVersion and kind and the object's own bytes.
Go sends every field that is not a pointer, set or not, so zeros count as absent unless the table says otherwise.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from fairlead.core.errors import BadRequest
from fairlead.core.times import timestamp
from fairlead.model.fields import Field, FieldTables, ListOf, MapOf, Ref, Scalar, Type
from fairlead.model.kind import Json

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"

Wire = int | bytes
_Plan = dict[int, "Field | _Plan"]


def read(tables: FieldTables, body: bytes) -> Json:
    """The object in `body`, with apiVersion and kind, or BadRequest saying what is wrong."""
    if not body.startswith(MAGIC):
        _refuse("it does not begin with the mark of Kubernetes' protobuf")
    envelope = dict(_fields(body[len(MAGIC) :]))
    names = dict(_fields(_bytes(envelope.get(1, b""))))
    api_version, kind = _text(names.get(1, b"")), _text(names.get(2, b""))
    if kind not in tables.types:
        raise BadRequest(f'no kind "{kind}" in "{api_version}" is known in protobuf; send the object as JSON')
    if envelope.get(3):
        _refuse("compressed objects are not supported")
    return {"apiVersion": api_version, "kind": kind} | _Reader(tables).message(kind, envelope.get(2, b""))


def _refuse(why: str) -> NoReturn:
    raise BadRequest(f"the body is not valid protobuf: {why}")


def _fields(data: bytes) -> Iterator[tuple[int, Wire]]:
    """Number and raw value of each field of a message."""
    position, end = 0, len(data)
    while position < end:
        key, position = _varint(data, position)
        form = key & 7
        if form == 0:
            value, position = _varint(data, position)
            yield key >> 3, value
            continue
        if form == 2:
            size, position = _varint(data, position)
        elif form in (1, 5):
            size = 8 if form == 1 else 4
        else:
            _refuse(f"wire type {form} is not known")
        if position + size > end:
            _refuse("it ends in the middle of a field")
        yield key >> 3, data[position : position + size]
        position += size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if position >= len(data):
            _refuse("it ends in the middle of a number")
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7
    _refuse("a number is too long")


def _bytes(value: Wire) -> bytes:
    if not isinstance(value, bytes):
        _refuse("a number stands where text or a message is expected")
    return value


def _text(value: Wire) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError:
        _refuse("text is not valid UTF-8")


def _integer(value: Wire) -> int:
    if not isinstance(value, int):
        _refuse("text or a message stands where a number is expected")
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value


class _Reader:
    """Reads messages of the types of the tables. As deep as the types are, never as deep as the input."""

    __slots__ = ("plans", "tables")

    def __init__(self, tables: FieldTables) -> None:
        self.tables = tables
        self.plans: dict[str, _Plan] = {}

    def message(self, type_name: str, data: Wire) -> Json:
        plan = self.plans.get(type_name)
        if plan is None:
            plan = self.plans[type_name] = self._plan(type_name)
        found: Json = {}
        self._read_into(found, plan, type_name, _bytes(data))
        return found

    def _plan(self, type_name: str) -> _Plan:
        plan: _Plan = {}
        for field in self.tables[type_name].fields.values():
            level = plan
            for outer in field.number[:-1]:
                inner = level.setdefault(outer, {})
                assert isinstance(inner, dict), f"{type_name}.{field.name} is folded into a field"
                level = inner
            if field.number:
                level[field.number[-1]] = field
        return plan

    def _read_into(self, found: Json, plan: _Plan, type_name: str, data: bytes) -> None:
        for number, value in _fields(data):
            field = plan.get(number)
            if field is None:
                raise BadRequest(
                    f"field number {number} of {type_name} is not known in protobuf; send the object as JSON"
                )
            if isinstance(field, dict):
                self._read_into(found, field, type_name, _bytes(value))
            else:
                self._put(found, field, value)

    def _put(self, found: Json, field: Field, value: Wire) -> None:
        kind = field.type
        if isinstance(kind, ListOf):
            found.setdefault(field.name, []).append(self._value(kind.item, value))
        elif isinstance(kind, MapOf) and kind.value != Scalar("any"):
            entry = dict(_fields(_bytes(value)))
            item = self._value(kind.value, entry.get(2, b""))
            found.setdefault(field.name, {})[_text(entry.get(1, b""))] = item
        else:
            item = self._value(kind, value)
            if item or field.zero or field.required or not isinstance(kind, Scalar):
                found[field.name] = item

    def _value(self, kind: Type, value: Wire) -> Any:
        if isinstance(kind, Ref):
            return self.message(kind.name, value)
        if isinstance(kind, ListOf):
            # A list as the value of a map is a message with the items under number 1.
            return [self._value(kind.item, item) for _, item in _fields(_bytes(value))]
        if isinstance(kind, MapOf):
            raw = dict(_fields(_bytes(value))).get(1, b"")
            return _free_json(_bytes(raw))
        return _scalar(kind.name, value)


def _free_json(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _refuse("a field that holds JSON holds something else")


def _scalar(name: str, value: Wire) -> Any:
    if name == "string":
        return _text(value)
    if name in ("int32", "int64"):
        return _integer(value)
    if name == "boolean":
        return _integer(value) != 0
    if name == "bytes":
        return b64encode(_bytes(value)).decode()
    parts = dict(_fields(_bytes(value)))
    if name == "quantity":
        return _text(parts.get(1, b""))
    if name == "int-or-string":
        return _text(parts.get(3, b"")) if parts.get(1) else _integer(parts.get(2, 0))
    if name in ("time", "microtime"):
        return _instant(parts, name) if parts else None
    _refuse(f"values of type {name} have no form in protobuf")


def _instant(parts: dict[int, Wire], name: str) -> str:
    seconds, nanos = _integer(parts.get(1, 0)), _integer(parts.get(2, 0))
    try:
        text = timestamp(seconds)
    except (ValueError, OverflowError, OSError):
        _refuse(f"{seconds} seconds since 1970 is out of range")
    return f"{text[:-1]}.{nanos // 1000 % 1_000_000:06d}Z" if name == "microtime" else text

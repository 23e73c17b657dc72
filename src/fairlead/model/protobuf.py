"""Objects in Kubernetes' protobuf form, read into JSON trees by the numbers of the field tables.

kubectl's own commands (`create namespace`, `auth can-i`, ...) and clients written in Go send their bodies in this
form and know no other; they accept JSON in return. `api/body.py` calls `read`; the tree that comes out is
checked like any other. A field that the tables have no number for is refused when set, never dropped.

The form: the four bytes `k8s\\0`, then a message with the object's apiVersion and kind and the object's own bytes.
Go sends every field that is not a pointer, set or not, so zeros count as absent unless the table says otherwise;
that also holds for fields of newer clients that no table knows. Plans are made when a type is first used and kept
with the tables. Only the schema of a custom kind contains itself; it is read as deep as JSON is read.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from math import isfinite
from struct import unpack_from
from typing import Any, NoReturn

import msgspec

from fairlead.core.codec import DEPTH_MAX, depth
from fairlead.core.errors import BadRequest
from fairlead.core.times import timestamp
from fairlead.model.fields import Field, FieldTables, ListOf, MapOf, Ref, Scalar, Type
from fairlead.model.kind import Json

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"

_NUMBER, _DOUBLE, _BLOCK = 0, 1, 2  # wire types: the low three bits of a field's tag
_IF_SET, _ALWAYS, _APPEND, _ENTRY, _FOLDED = range(5)  # where a value goes

_Read = Callable[[bytes, int, int], Any]  # of a block: the whole body, where the block begins and ends


class _Plan(dict[int, tuple[str, int, Any]]):
    """How to read one type: tag of a field -> its name, where its value goes, what makes the value."""

    __slots__ = ("owner",)

    def __init__(self, owner: str, fields: Mapping[int, tuple[str, int, Any]]) -> None:
        super().__init__(fields)
        self.owner = owner


def read(tables: FieldTables, body: bytes) -> Json:
    """The object in `body`, with apiVersion and kind, or BadRequest saying what is wrong."""
    if not body.startswith(MAGIC):
        _refuse("it does not begin with the mark of Kubernetes' protobuf")
    try:
        envelope = _message(_ENVELOPE, body, len(MAGIC), len(body))
        names = envelope.get("typeMeta", {})
        found: Json = {"apiVersion": names.get("apiVersion", ""), "kind": names.get("kind", "")}
        kind = found["kind"]
        name = tables.named(found["apiVersion"], kind)
        if not name:
            raise BadRequest(
                f'no kind "{kind}" in "{found["apiVersion"]}" is known in protobuf; send the object as JSON'
            )
        if "contentEncoding" in envelope:
            _refuse("compressed objects are not supported")
        plan = _plan(tables, name)
        if not plan:
            raise BadRequest(f"{kind} is not read in protobuf; send the object as JSON")
        _fill(found, plan, body, *envelope.get("raw", (0, 0)))
        too_deep = depth(found) > DEPTH_MAX
    except IndexError:
        _refuse("it ends in the middle of a number")
    except RecursionError:
        too_deep = True
    if too_deep:
        _refuse(f"it is nested too deeply: at most {DEPTH_MAX} levels are accepted")
    return found


def _refuse(why: str) -> NoReturn:
    raise BadRequest(f"the body is not valid protobuf: {why}")


def _fill(found: Json, plan: _Plan, data: bytes, position: int, end: int) -> None:
    """Puts the fields of the message between two positions into `found`. IndexError: the body is too short."""
    target_of = plan.get
    while position < end:
        tag = data[position]
        position += 1
        if tag > 127:
            tag, position = _varint(data, position - 1)
        target = target_of(tag)
        if target is None:
            position = _pass_over(plan, tag, data, position, end)
            continue
        if tag & 7 == _DOUBLE:
            found[target[0]], position = _double(data, position)
            continue
        number = data[position]
        position += 1
        if number > 127:
            number, position = _varint(data, position - 1)
        name, place, value_of = target
        if not tag & 7:
            value = value_of(number)
            if place == _APPEND:
                found.setdefault(name, []).append(value)
            elif number or place == _ALWAYS:
                found[name] = value
            continue
        start, position = position, position + number
        if position > end:
            _refuse("it ends in the middle of a field")
        if place == _IF_SET:
            if number and (value := value_of(data, start, position)):
                found[name] = value
        elif place == _ALWAYS:
            found[name] = value_of(data, start, position)
        elif place == _APPEND:
            found.setdefault(name, []).append(value_of(data, start, position))
        elif place == _ENTRY:
            key, value = value_of(data, start, position)
            found.setdefault(name, {})[key] = value
        else:
            _fill(found, value_of, data, start, position)
    if position != end:
        _refuse("it ends in the middle of a field")


def _message(plan: _Plan, data: bytes, start: int, end: int) -> Json:
    found: Json = {}
    _fill(found, plan, data, start, end)
    return found


def _double(data: bytes, position: int) -> tuple[float, int]:
    if position + 8 > len(data):
        _refuse("it ends in the middle of a number")
    (value,) = unpack_from("<d", data, position)
    if not isfinite(value):
        _refuse("a number is infinite, or none")
    return value, position + 8


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
    _refuse("a number is too long")


def _pass_over(plan: _Plan, tag: int, data: bytes, position: int, end: int) -> int:
    """The position after a field that is unknown and unset; BadRequest for any other."""
    wire = tag & 7
    if wire not in (_NUMBER, _BLOCK):
        _refuse(f"wire type {wire} is not known")
    if tag ^ _BLOCK in plan:
        if wire == _NUMBER:
            _refuse("a number stands where text or a message is expected")
        _refuse("text or a message stands where a number is expected")
    value, position = _varint(data, position)
    if value:
        raise BadRequest(
            f"field number {tag >> 3} of {plan.owner} is not known in protobuf; send the object as JSON"
        )
    return position


# --- plans ---


def _plan(tables: FieldTables, type_name: str) -> _Plan:
    known = tables.plans.get(type_name)
    if isinstance(known, _Plan):
        return known
    plan = _Plan(type_name, {})
    for field in tables[type_name].fields.values():
        if field.number:
            _add(tables, plan, field)
    tables.plans[type_name] = plan
    return plan


def _add(tables: FieldTables, plan: _Plan, field: Field) -> None:
    *outer, number = field.number
    for folded in outer:
        plan = plan.setdefault(folded << 3 | _BLOCK, ("", _FOLDED, _Plan(plan.owner, {})))[2]
    kind = field.type
    if (plan.owner, field.name) == _SCHEMA_OR_BOOLEAN:
        plan[number << 3 | _BLOCK] = field.name, _ALWAYS, _schema_or_boolean(tables)
        return
    place = _ALWAYS if field.zero or field.required or kind == _ANY else _IF_SET
    if isinstance(kind, MapOf) and kind != _FREE:
        plan[number << 3 | _BLOCK] = field.name, _ENTRY, _entry_reader(tables, kind)
        return
    if isinstance(kind, ListOf):
        kind, place = kind.item, _APPEND
    elif not isinstance(kind, Scalar):
        place = _ALWAYS
    elif kind.name in _INSTANTS:
        place = _IF_SET  # an unset one comes as an empty message
    if kind == Scalar("number"):
        plan[number << 3 | _DOUBLE] = field.name, _ALWAYS, None
    elif isinstance(kind, Scalar) and kind.name in _NUMBERS:
        plan[number << 3 | _NUMBER] = field.name, place, _NUMBERS[kind.name]
    else:
        plan[number << 3 | _BLOCK] = field.name, place, _block_reader(tables, kind)


def _block_reader(tables: FieldTables, kind: Type) -> _Read:
    if isinstance(kind, Ref):
        name = kind.name
        return lambda data, start, end: _message(_plan(tables, name), data, start, end)
    if isinstance(kind, ListOf):
        # A list as the value of a map is a message with the items under number 1.
        items = _Plan("a list", {1 << 3 | _BLOCK: ("items", _APPEND, _block_reader(tables, kind.item))})
        return lambda data, start, end: _message(items, data, start, end).get("items", [])
    if isinstance(kind, MapOf):
        return _free_json
    return _BLOCKS[kind.name]


def _schema_or_boolean(tables: FieldTables) -> _Read:
    """A message with both, of which the schema counts if it is there."""
    schema = _block_reader(tables, Ref("JSONSchemaProps"))
    either = _Plan(
        "a schema or boolean",
        {1 << 3 | _NUMBER: ("allows", _ALWAYS, bool), 2 << 3 | _BLOCK: ("schema", _ALWAYS, schema)},
    )

    def read_either(data: bytes, start: int, end: int) -> Any:
        found = _message(either, data, start, end)
        return found["schema"] if "schema" in found else found.get("allows", False)

    return read_either


def _entry_reader(tables: FieldTables, kind: MapOf) -> _Read:
    value_of = _block_reader(tables, kind.value)
    entry = _Plan("a map", {10: ("key", _ALWAYS, _text), 18: ("value", _ALWAYS, value_of)})

    def read_entry(data: bytes, start: int, end: int) -> tuple[str, Any]:
        found = _message(entry, data, start, end)
        return found.get("key", ""), found["value"] if "value" in found else value_of(data, end, end)

    return read_entry


# --- values ---


def _integer(value: int) -> int:
    return value if value < 1 << 63 else value - (1 << 64)


def _text(data: bytes, start: int, end: int) -> str:
    try:
        return str(data[start:end], "utf-8")
    except UnicodeDecodeError:
        _refuse("text is not valid UTF-8")


def _base64(data: bytes, start: int, end: int) -> str:
    return b64encode(data[start:end]).decode()


def _free_json(data: bytes, start: int, end: int) -> Any:
    return _any_json(data, start, end, "{}")


def _any_json(data: bytes, start: int, end: int, unset: str = "null") -> Any:
    raw = _message(_RAW, data, start, end).get("raw", unset)
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        _refuse("a field that holds JSON holds something else")


def _quantity(data: bytes, start: int, end: int) -> str:
    return str(_message(_QUANTITY, data, start, end).get("string", "0"))


def _int_or_string(data: bytes, start: int, end: int) -> Any:
    parts = _message(_INT_OR_STRING, data, start, end)
    form = parts.get("type", 0)
    if form not in (0, 1):
        _refuse(f"{form} is not a form of a number or text")
    return parts.get("text", "") if form else parts.get("number", 0)


def _time(data: bytes, start: int, end: int) -> str | None:
    return _instant(_message(_INSTANT, data, start, end)) if end > start else None


def _microtime(data: bytes, start: int, end: int) -> str | None:
    if end == start:
        return None
    parts = _message(_INSTANT, data, start, end)
    return f"{_instant(parts)[:-1]}.{parts.get('nanos', 0) // 1000 % 1_000_000:06d}Z"


def _instant(parts: Json) -> str:
    seconds = parts.get("seconds", 0)
    try:
        return timestamp(seconds)
    except (ValueError, OverflowError, OSError):
        _refuse(f"{seconds} seconds since 1970 is out of range")


def _span(data: bytes, start: int, end: int) -> tuple[int, int]:
    return start, end


_ANY = Scalar("any")
_FREE = MapOf(_ANY)
_SCHEMA_OR_BOOLEAN = ("JSONSchemaProps", "additionalProperties")
_INSTANTS = ("time", "microtime")
_NUMBERS: Mapping[str, Callable[[int], Any]] = {"int32": _integer, "int64": _integer, "boolean": bool}
_BLOCKS: Mapping[str, _Read] = {
    "string": _text,
    "bytes": _base64,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "microtime": _microtime,
    "any": _any_json,
}
_RAW = _Plan("JSON", {10: ("raw", _IF_SET, _text)})
_QUANTITY = _Plan("a quantity", {10: ("string", _IF_SET, _text)})
_INT_OR_STRING = _Plan(
    "a number or text",
    {8: ("type", _IF_SET, _integer), 16: ("number", _IF_SET, _integer), 26: ("text", _IF_SET, _text)},
)
_INSTANT = _Plan("a time", {8: ("seconds", _IF_SET, _integer), 16: ("nanos", _IF_SET, _integer)})
_TYPE_META = _Plan("typeMeta", {10: ("apiVersion", _IF_SET, _text), 18: ("kind", _IF_SET, _text)})
_ENVELOPE = _Plan(
    "the envelope",
    {
        10: ("typeMeta", _ALWAYS, lambda data, start, end: _message(_TYPE_META, data, start, end)),
        18: ("raw", _ALWAYS, _span),
        26: ("contentEncoding", _IF_SET, _text),
        34: ("contentType", _IF_SET, _text),
    },
)

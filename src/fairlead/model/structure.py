"""Says what is wrong with the structure of an object, by the field tables.

`api/` calls `check` for every object that arrives, before defaults and validators see it. What is right takes
the fast way through `model/shapes.py`; for the rest every mistake is named at once, with path, bad value and
what would be right, sorted by what it leads to: wrong types cannot be decoded (400), missing or unsupported
values are invalid (422), unknown fields are refused, warned about or ignored, as the client asked.
It changes nothing; `drop_nulls` and `drop_unknown` do.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.core.problems import Problems
from fairlead.core.quantity import from_json
from fairlead.core.times import parse_time
from fairlead.model.fields import FieldTables, ListOf, MapOf, ObjectType, Ref, Scalar, Type
from fairlead.model.kind import Json
from fairlead.model.shapes import SCALAR_SHAPES, fits

#: bound: requests | unknown fields named in one answer | the rest is left out
UNKNOWN_MAX = 100
REDACTED = "<redacted>"

_EXPECTED = {
    "string": "a string",
    "int32": "an integer between -2147483648 and 2147483647",
    "int64": "an integer of at most 64 bits",
    "number": "a number",
    "boolean": "true or false",
    "time": 'a time in the form of RFC 3339, such as "2006-01-02T15:04:05Z"',
    "microtime": 'a time in the form of RFC 3339, such as "2006-01-02T15:04:05.000000Z"',
    "int-or-string": "an integer or a string",
    "bytes": "text in base64",
}


def check(
    tables: FieldTables,
    type_name: str,
    obj: Any,
    *,
    unknown: list[str],
    values: Problems | None = None,
    hidden: tuple[str, ...] = (),
) -> Problems:
    """Returns what cannot be decoded; paths of unknown fields are added to `unknown`.

    Missing and unsupported values are added to `values`, in which validators may go on collecting; without it they are
    among those returned. A null counts as absent. No value below the top-level fields named in `hidden` is repeated:
    messages end up in logs.
    """
    decode = Problems()
    if not fits(tables, type_name, obj):
        walk = _Walk(tables, decode, decode if values is None else values, unknown, hidden)
        walk.object(tables[type_name], obj, "")
    return decode


def drop_nulls(obj: Any) -> None:
    """Removes, in place, every key whose value is null. `b"null" in body` tells cheaply when to call it.

    Nulls in lists stay: there they are mistakes, which `check` names.
    """
    pending = [obj]
    push = pending.append
    while pending:
        node = pending.pop()
        if type(node) is dict:
            values = node.values()
            if None in values:
                for key in [key for key, value in node.items() if value is None]:
                    del node[key]
        else:
            values = node
        for value in values:
            kind = type(value)
            if kind is dict or kind is list:
                push(value)


def drop_unknown(tables: FieldTables, type_name: str, obj: Json) -> None:
    """Removes, in place, every field that the table does not know, as `check` names them."""
    fields = tables[type_name].fields
    for key in [key for key in obj if key not in fields]:
        del obj[key]
    for key, value in obj.items():
        _drop_inside(tables, fields[key].type, value)


def _drop_inside(tables: FieldTables, kind: Type, value: Any) -> None:
    if isinstance(kind, Ref):
        if isinstance(value, dict):
            drop_unknown(tables, kind.name, value)
    elif isinstance(kind, ListOf):
        for item in value if isinstance(value, list) else ():
            _drop_inside(tables, kind.item, item)
    elif isinstance(kind, MapOf) and isinstance(value, dict):
        for item in value.values():
            _drop_inside(tables, kind.value, item)


class _Walk:
    """One walk over one object; as deep as the types are, never as deep as the input."""

    __slots__ = ("decode", "hidden", "tables", "unknown", "values")

    def __init__(
        self,
        tables: FieldTables,
        decode: Problems,
        values: Problems,
        unknown: list[str],
        hidden: tuple[str, ...] = (),
    ) -> None:
        self.hidden = hidden
        self.tables = tables
        self.decode = decode
        self.values = values
        self.unknown = unknown

    def object(self, kind: ObjectType, obj: Any, path: str) -> None:
        if not isinstance(obj, dict):
            self.wrong_type(path, obj, "an object")
            return
        prefix = f"{path}." if path else ""
        fields = kind.fields
        for key, value in obj.items():
            field = fields.get(key)
            if field is None:
                if len(self.unknown) < UNKNOWN_MAX:
                    self.unknown.append(prefix + key)
            elif value is not None:
                self.value(field.type, value, prefix + key, required=field.required)
        for name, field in fields.items():
            if field.required and obj.get(name) is None:
                self.values.required(prefix + name)

    def value(self, kind: Type, value: Any, path: str, *, required: bool) -> None:
        if isinstance(kind, Scalar):
            self.scalar(kind, value, path, required)
        elif isinstance(kind, ListOf):
            if not isinstance(value, list):
                self.wrong_type(path, value, "a list")
                return
            for index, item in enumerate(value):
                self.value(kind.item, item, f"{path}[{index}]", required=True)
        elif isinstance(kind, MapOf):
            if not isinstance(value, dict):
                self.wrong_type(path, value, "an object")
                return
            for key, item in value.items():
                if item is not None:
                    self.value(kind.value, item, f"{path}[{key}]", required=True)
        else:
            self.object(self.tables[kind.name], value, path)

    def scalar(self, kind: Scalar, value: Any, path: str, required: bool) -> None:
        try:
            _read(kind.name, value)
        except msgspec.ValidationError:
            self.wrong_type(path, value, _EXPECTED[kind.name])
            return
        except ValueError as error:
            self.decode.invalid(path, value, str(error))
            return
        if kind.enum and value not in kind.enum and (value or required):
            self.values.unsupported(path, value, kind.enum)

    def wrong_type(self, path: str, value: Any, expected: str) -> None:
        hide = self.hidden and path.partition("[")[0] in self.hidden
        self.decode.wrong_type(path, REDACTED if hide else value, expected)


def _read(name: str, value: Any) -> None:
    """Raises unless the value is of this scalar type. Knows more spellings than the fast way does."""
    if name == "quantity":
        from_json(value)
        return
    if isinstance(value, str):
        if name in ("time", "microtime"):
            parse_time(value)
            return
        if name == "bytes":
            # Line breaks are legal in base64, and what a block of YAML ends with.
            value = value.replace("\r", "").replace("\n", "")
    msgspec.convert(value, SCALAR_SHAPES[name])

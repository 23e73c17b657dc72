"""A structural schema as types of the field tables, so that whatever reads those (server-side apply) knows the kind.

Used by `kinds.py`. Names hold a "/" and so never meet those of the tables: `example.com/v1.CronTab.spec.template`.
"""

from __future__ import annotations

from fairlead.core import codec
from fairlead.model.custom.schema import MISSING, Node
from fairlead.model.fields import Field, ListOf, MapOf, ObjectType, Ref, Scalar, Type

_ANY = Scalar("any")
_SCALARS = {"string": "string", "integer": "int64", "number": "number", "boolean": "boolean"}


def types_of(node: Node, name: str) -> tuple[ObjectType, ...]:
    """The type called `name` first, then those it refers to."""
    found: list[ObjectType] = []
    fields = {
        "apiVersion": Field("apiVersion", Scalar("string")),
        "kind": Field("kind", Scalar("string")),
        "metadata": Field("metadata", Ref("ObjectMeta")),
    }
    for key, below in node.properties.items():
        if key not in fields:
            fields[key] = _field(key, below, f"{name}.{key}", found)
    return ObjectType(name, fields), *found


def _field(key: str, node: Node, name: str, found: list[ObjectType]) -> Field:
    default = "" if node.default is MISSING else _text(node.default)
    list_type = node.list_type if "array" in node.types else "atomic" if node.map_type == "atomic" else ""
    kind = _type(node, name, found)
    if isinstance(kind, ListOf) and not list_type:
        list_type = "atomic"
    if kind == _ANY and list_type in ("set", "map"):
        list_type = ""
    return Field(key, kind, list_type=list_type, list_keys=node.list_keys, default=default)


def _type(node: Node, name: str, found: list[ObjectType]) -> Type:
    if node.int_or_string:
        return Scalar("int-or-string")
    if node.preserve or node.embedded or not node.types:
        return _ANY
    kind = node.types[0]
    if kind == "array":
        return ListOf(_type(node.items, f"{name}[]", found)) if node.items is not None else _ANY
    if kind != "object":
        return Scalar(_SCALARS[kind])
    if node.values is not None:
        return MapOf(_type(node.values, f"{name}{{}}", found))
    if node.open:
        return _ANY
    fields = {key: _field(key, below, f"{name}.{key}", found) for key, below in node.properties.items()}
    found.append(ObjectType(name, fields, atomic=node.map_type == "atomic"))
    return Ref(name)


def _text(value: object) -> str:
    return value if isinstance(value, str) else codec.encode(value).decode()

"""A structural schema as types of the field tables, so that whatever reads those (server-side apply) knows the kind.

Used by `kinds.py`. Names hold a "/" and so never meet those of the tables: `example.com/v1.CronTab.spec.template`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fairlead.core import codec
from fairlead.model.custom.schema import MISSING, SchemaNode
from fairlead.model.fields import Field, ListOf, MapOf, ObjectType, Ref, Scalar, Type

_ANY = Scalar("any")
_HOLDING = ("object", "array")
_EITHER = Scalar("int-or-string")
_SCALARS = {
    "string": Scalar("string"),
    "integer": Scalar("int64"),
    "number": Scalar("number"),
    "boolean": Scalar("boolean"),
}


_STANDARD = {
    "apiVersion": Field("apiVersion", Scalar("string")),
    "kind": Field("kind", Scalar("string")),
    "metadata": Field("metadata", Ref("ObjectMeta")),
}


def types_of(node: SchemaNode, name: str) -> tuple[ObjectType, ...]:
    """The type called `name` first, then those it refers to. Their fields are made when one is first asked for: a
    definition has thousands, most of which no object ever holds."""
    found: list[ObjectType] = []
    for key, below in node.properties.items():
        if key not in _STANDARD:
            _collect(below, f"{name}.{key}", found)
    return ObjectType(name, _Fields(node, name, _STANDARD)), *found


class _Fields(Mapping[str, Field]):
    """Those of one type."""

    __slots__ = ("_found", "_name", "_node", "_standard")

    def __init__(self, node: SchemaNode, name: str, standard: Mapping[str, Field] | None = None) -> None:
        self._node = node
        self._name = name
        self._standard = standard or {}
        self._found: dict[str, Field] | None = None

    def _made(self) -> dict[str, Field]:
        if self._found is None:
            self._found = dict(self._standard)
            for key, below in self._node.properties.items():
                if key not in self._standard:
                    self._found[key] = _field(key, below, f"{self._name}.{key}")
        return self._found

    def __getitem__(self, key: str) -> Field:
        return self._made()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())


def _collect(node: SchemaNode, name: str, found: list[ObjectType]) -> None:
    """Every type that `_type` refers to, from this one on."""
    if node.int_or_string or node.preserve or node.embedded or not node.types:
        return
    if node.types[0] == "array":
        if node.items is not None:
            _collect(node.items, f"{name}[]", found)
    elif node.types[0] == "object":
        if node.values is not None:
            _collect(node.values, f"{name}{{}}", found)
        elif not node.open:
            for key, below in node.properties.items():
                if below.types and below.types[0] in _HOLDING:
                    _collect(below, f"{name}.{key}", found)
            found.append(ObjectType(name, _Fields(node, name), atomic=node.map_type == "atomic"))


def _field(key: str, node: SchemaNode, name: str) -> Field:
    default = "" if node.default is MISSING else _text(node.default)
    list_type = node.list_type if "array" in node.types else "atomic" if node.map_type == "atomic" else ""
    kind = _type(node, name)
    if isinstance(kind, ListOf) and not list_type:
        list_type = "atomic"
    if kind is _ANY and list_type in ("set", "map"):
        list_type = ""
    return Field(key, kind, list_type=list_type, list_keys=node.list_keys, default=default)


def _type(node: SchemaNode, name: str) -> Type:
    if node.int_or_string:
        return _EITHER
    if node.preserve or node.embedded or not node.types:
        return _ANY
    kind = node.types[0]
    if kind == "array":
        return ListOf(_type(node.items, f"{name}[]")) if node.items is not None else _ANY
    if kind != "object":
        return _SCALARS[kind]
    if node.values is not None:
        return MapOf(_type(node.values, f"{name}{{}}"))
    return _ANY if node.open else Ref(name)


def _text(value: object) -> str:
    return value if isinstance(value, str) else codec.encode(value).decode()

"""The shape of the field tables: which fields a type has, their types, and how lists merge.

`model/tables.py` turns `model/tbl/*.tbl` into these; structure checks, strategic merge, OpenAPI
and (later) server-side apply read them. One table is the only place where a field's type is written down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class Scalar:
    """One of: string, int32, int64, number, boolean, quantity, time, microtime, int-or-string, bytes, any."""

    name: str
    enum: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Type


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object with free keys."""

    value: Type


@dataclass(frozen=True, slots=True)
class Ref:
    """A named object type of the tables."""

    name: str


Type = Scalar | ListOf | MapOf | Ref


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `required` means that an object without it is refused; see `model/structure.py`."""

    name: str
    type: Type
    required: bool = False
    merge_key: str = ""  # strategic merge: lists of objects are matched by this key
    strategy: frozenset[str] = frozenset()  # strategic merge: subset of {"merge", "replace", "retainKeys"}
    list_type: str = ""  # server-side apply: atomic, set, map; on a map or object only atomic
    list_keys: tuple[str, ...] = ()
    default: str = ""  # server-side apply: value of a list key that is left out
    zero: bool = False  # absent and zero (false, "") mean different things
    number: tuple[int, ...] = ()  # protobuf: number, after those of the messages it is folded into, if any
    description: str = ""


@dataclass(frozen=True, slots=True)
class ObjectType:
    """A named type. `fields` is empty only for types without any."""

    name: str
    fields: Mapping[str, Field]
    package: str = ""  # e.g. io.k8s.api.core.v1; clients know types by package and name
    atomic: bool = False  # server-side apply: one owner for the whole object
    description: str = ""
    published: str = ""  # how clients call it, if the tables need another name

    @property
    def full_name(self) -> str:
        name = self.published or self.name
        return f"{self.package}.{name}" if self.package else name


class FieldTables:
    """All object types by name.

    `shapes`, `plans` and `rules` are what `model/shapes.py`, `model/protobuf.py` and `model/apply/rules.py` make of a
    type when it is first used.
    Types of custom kinds come and go; their names hold a "/" and never meet those of the tables.
    """

    __slots__ = ("_shared", "custom_shapes", "plans", "rules", "shapes", "trunk", "types")

    def __init__(self, types: Mapping[str, ObjectType], trunk: FieldTables | None = None) -> None:
        """`trunk`: of what this is a branch."""
        self.types = dict(types)
        self.trunk: FieldTables = trunk.trunk if trunk is not None else self
        # (apiVersion, kind) -> name, of those whose name clients use for several types.
        self._shared: dict[tuple[str, str], str] = (
            trunk._shared
            if trunk is not None
            else {
                ("/".join(each.package.split(".")[-2:]), each.published): each.name
                for each in self.types.values()
                if each.published
            }
        )
        self.shapes: dict[str, type[Struct]] = {}
        self.custom_shapes: dict[str, type[Struct]] = {}
        self.plans: dict[str, dict[int, Any]] = {}
        self.rules: Any = None  # of a trunk

    def branch(self) -> FieldTables:
        """The same tables for one server, which may add types of its own; what is made of the others is shared."""
        found = FieldTables(self.types, self)
        found.shapes, found.plans = self.shapes, self.plans
        return found

    def shapes_of(self, name: str) -> dict[str, type[Struct]]:
        """Where the shape of this type is kept."""
        return self.custom_shapes if "/" in name else self.shapes

    def __getitem__(self, name: str) -> ObjectType:
        return self.types[name]

    def named(self, api_version: str, kind: str) -> str:
        """The name that the tables have for a kind; "" if they have none."""
        return self._shared.get((api_version, kind)) or (kind if kind in self.types else "")

    def add(self, types: Iterable[ObjectType]) -> None:
        """More types; one that has a name that is there takes its place."""
        for each in types:
            self._forget(each.name)
            self.types[each.name] = each

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._forget(name)
            self.types.pop(name, None)

    def _forget(self, name: str) -> None:
        if "/" not in name:
            raise ValueError(f"{name} is a type of the tables, which do not change")
        self.custom_shapes.pop(name, None)

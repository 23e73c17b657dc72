"""Field tables as OpenAPI schemas, in the dialect of version 2 or 3. Used by `api/openapi/documents.py` only.

Clients find in them what client-side apply needs: types, merge keys and strategies, list types, and which
group, version and kind a schema stands for. Descriptions are those of the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fairlead.api.openapi import custom as openapi_custom
from fairlead.model.fields import Field, FieldTables, ListOf, MapOf, ObjectType, Ref, Scalar, Type
from fairlead.model.kind import Json, Kind

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
PATCH = f"{META}.Patch"
_TIME = {"type": "string", "format": "date-time"}
_NAMED = {
    "quantity": "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "int-or-string": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    "time": f"{META}.Time",
    "microtime": f"{META}.MicroTime",
}
_PLAIN: dict[str, Json] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "number": {"type": "number", "format": "double"},
    "boolean": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "any": {},  # a value of any sort: kubectl takes an object's type for a promise
}
_STANDARD = {
    "apiVersion": "group and version of the schema of this object",
    "kind": "what this object is",
    "metadata": "name, labels and what else every object has",
}
_LIST_META = Field("metadata", Ref("ListMeta"))
_OBJECT_FIELDS = (
    Field("apiVersion", Scalar("string")),
    Field("kind", Scalar("string")),
    Field("metadata", Ref("ObjectMeta")),
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between versions 2 and 3 of OpenAPI."""

    prefix: str
    version: int

    def ref(self, full_name: str) -> Json:
        return {"$ref": self.prefix + full_name}

    def scalars(self) -> dict[str, Json]:
        """The scalars that have names of their own."""
        text: Json = {"type": "string"}
        either: Json = {"format": "int-or-string", "type": "string"}
        if self.version == 3:
            text = {"oneOf": [{"type": "string"}, {"type": "number"}]}
            either = {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}
        return {
            _NAMED["quantity"]: text,
            _NAMED["int-or-string"]: either,
            _NAMED["time"]: dict(_TIME),
            _NAMED["microtime"]: dict(_TIME),
            PATCH: {"type": "object"},
        }


V2 = Dialect("#/definitions/", 2)
V3 = Dialect("#/components/schemas/", 3)


def gvk(group: str, version: str, kind: str) -> Json:
    return {"group": group, "kind": kind, "version": version}


def schema_name(tables: FieldTables, kind: Kind) -> str:
    if kind.openapi is not None:
        return f"{openapi_custom.package(kind)}.{kind.kind}"
    return tables[kind.schema].full_name


def list_name(tables: FieldTables, kind: Kind) -> str:
    package = openapi_custom.package(kind) if kind.openapi is not None else tables[kind.schema].package
    return f"{package}.{kind.list_kind}"


def schemas(tables: FieldTables, dialect: Dialect, kinds: Iterable[Kind], others: Json) -> Json:
    """Schemas of the kinds, of their lists and of everything they reach.

    `others` are types that are not stored: type name -> list of group-version-kinds.
    """
    found = dialect.scalars()
    groups: dict[str, list[Json]] = dict(others)
    for kind in kinds:
        me = gvk(kind.group, kind.version, kind.kind)
        found[list_name(tables, kind)] = _list_schema(tables, dialect, kind)
        if kind.openapi is None:
            groups[kind.schema] = [me]
        else:
            standard = {each.name: _property(tables, dialect, each) for each in _OBJECT_FIELDS}
            found[schema_name(tables, kind)] = openapi_custom.published(kind, dialect.version, standard, me)
            groups.setdefault("ObjectMeta", [])
    for name in sorted(_reached(tables, ["ListMeta", *groups])):
        found[tables[name].full_name] = _object_schema(tables, dialect, tables[name], groups.get(name, []))
    return dict(sorted(found.items()))


def _reached(tables: FieldTables, names: Iterable[str]) -> set[str]:
    seen: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(_names_in(tables[name]))
    return seen


def _names_in(kind: ObjectType) -> Iterator[str]:
    for field in kind.fields.values():
        inner = field.type
        while isinstance(inner, ListOf | MapOf):
            inner = inner.item if isinstance(inner, ListOf) else inner.value
        if isinstance(inner, Ref):
            yield inner.name


def _object_schema(tables: FieldTables, dialect: Dialect, kind: ObjectType, groups: list[Json]) -> Json:
    schema: Json = {"type": "object"}
    if kind.description:
        schema["description"] = kind.description
    if kind.fields:
        schema["properties"] = {
            name: _property(tables, dialect, field) for name, field in kind.fields.items()
        }
    required = [field.name for field in kind.fields.values() if field.required]
    if required:
        schema["required"] = required
    if groups:
        schema["x-kubernetes-group-version-kind"] = groups
    if kind.atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _list_schema(tables: FieldTables, dialect: Dialect, kind: Kind) -> Json:
    return {
        "type": "object",
        "description": f"a list of objects of kind {kind.kind}",
        "properties": {
            "apiVersion": {"type": "string", "description": _STANDARD["apiVersion"]},
            "items": {"type": "array", "items": dialect.ref(schema_name(tables, kind))},
            "kind": {"type": "string", "description": _STANDARD["kind"]},
            "metadata": _property(tables, dialect, _LIST_META),
        },
        "required": ["items"],
        "x-kubernetes-group-version-kind": [gvk(kind.group, kind.version, kind.list_kind)],
    }


def _property(tables: FieldTables, dialect: Dialect, field: Field) -> Json:
    schema = _schema(tables, dialect, field.type)
    beside = dict(_beside(field))
    if "$ref" in schema and beside and dialect.version == 3:
        # Version 3 ignores whatever stands beside a $ref.
        schema = {"allOf": [schema]}
    return schema | beside


def _beside(field: Field) -> Iterator[tuple[str, Any]]:
    """What a property says beyond its type."""
    description = field.description or _STANDARD.get(field.name, "")
    if description:
        yield "description", description
    if field.default:
        yield "default", field.default
    if field.list_type and isinstance(field.type, ListOf):
        yield "x-kubernetes-list-type", field.list_type
    elif field.list_type:
        yield "x-kubernetes-map-type", field.list_type
    if field.list_keys:
        yield "x-kubernetes-list-map-keys", list(field.list_keys)
    if field.merge_key:
        yield "x-kubernetes-patch-merge-key", field.merge_key
    if field.strategy:
        yield "x-kubernetes-patch-strategy", ",".join(sorted(field.strategy))


def _schema(tables: FieldTables, dialect: Dialect, kind: Type) -> Json:
    if isinstance(kind, Scalar):
        if kind.enum:
            return {"type": "string", "enum": list(kind.enum)}
        named = _NAMED.get(kind.name)
        return dialect.ref(named) if named else dict(_PLAIN[kind.name])
    if isinstance(kind, ListOf):
        return {"type": "array", "items": _schema(tables, dialect, kind.item)}
    if isinstance(kind, MapOf):
        if kind.value == Scalar("any"):
            return {"type": "object"}
        return {"type": "object", "additionalProperties": _schema(tables, dialect, kind.value)}
    return dialect.ref(tables[kind.name].full_name)

"""The kinds of fairlead.dev as CustomResourceDefinitions, for servers without them. Printed by `fairlead kinds`.

Their schemas are made of the same field tables as everything else (`model/tbl/`), as structural ones: every type is
written out where it is used. What a server of Fairlead's judges beyond structure (bounds, names, what fits together) is
not in them; those who read such objects leave out what they cannot use.
"""

from __future__ import annotations

from fairlead.model.catalog import CATALOG
from fairlead.model.fields import Field, FieldTables, ListOf, MapOf, Scalar, Type
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.runbook import RUN, RUNBOOK

GROUP = "fairlead.dev"
_FREE: Json = {"x-kubernetes-preserve-unknown-fields": True}
_TIME: Json = {"type": "string", "format": "date-time"}
_EITHER: Json = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
_SCALARS: dict[str, Json] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "quantity": _EITHER,
    "int-or-string": _EITHER,
    "time": _TIME,
    "microtime": _TIME,
    "any": _FREE,
}
# What the API server adds to every object by itself; a schema may say no more of it.
_OBJECT_META: Json = {"type": "object"}


# Runs act with the rights of who created them, which only an API of ours can lend (docs/adr/0029).
_HERE_ONLY = (RUNBOOK, RUN)


def definitions(tables: FieldTables) -> list[Json]:
    return [definition(tables, kind) for kind in CATALOG if kind.group == GROUP and kind not in _HERE_ONLY]


def definition(tables: FieldTables, kind: Kind) -> Json:
    names: Json = {
        "kind": kind.kind,
        "listKind": kind.list_kind,
        "plural": kind.plural,
        "singular": kind.singular or kind.kind.lower(),
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    version: Json = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _object(tables, kind.schema)},
    }
    if "status" in kind.subresources:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _object(tables: FieldTables, name: str) -> Json:
    if name == "ObjectMeta":
        return dict(_OBJECT_META)
    found = tables[name]
    schema: Json = {"type": "object"}
    if found.description:
        schema["description"] = found.description
    if found.fields:
        schema["properties"] = {each.name: _property(tables, each) for each in found.fields.values()}
    required = [each.name for each in found.fields.values() if each.required]
    if required:
        schema["required"] = required
    if found.atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _property(tables: FieldTables, field: Field) -> Json:
    schema = _schema(tables, field.type)
    if field.description:
        schema["description"] = field.description
    if field.default:
        schema["default"] = field.default
    if field.list_type and isinstance(field.type, ListOf):
        schema["x-kubernetes-list-type"] = field.list_type
        if field.list_keys:
            schema["x-kubernetes-list-map-keys"] = list(field.list_keys)
            items = schema["items"]  # which definitions want to name their keys always
            items["required"] = sorted({*items.get("required", ()), *field.list_keys})
    elif field.list_type:
        schema["x-kubernetes-map-type"] = field.list_type
    return schema


def _schema(tables: FieldTables, kind: Type) -> Json:
    match kind:
        case Scalar(enum=enum) if enum:
            return {"type": "string", "enum": list(enum)}
        case Scalar(name=name):
            return dict(_SCALARS[name])
        case ListOf(item=item):
            return {"type": "array", "items": _schema(tables, item)}
        case MapOf(value=Scalar(name="any")):
            return {"type": "object", **_FREE}
        case MapOf(value=value):
            return {"type": "object", "additionalProperties": _schema(tables, value)}
        case _:
            return _object(tables, kind.name)

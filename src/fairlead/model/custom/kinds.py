"""From a CustomResourceDefinition to the Kinds that the API serves, one for each version that is served.

`api/custom.py` calls `made_of` when an established definition is committed. Everything that a kind does follows from
its schema: structure (what is not in the schema is dropped), defaults, validation, columns, the scale subresource.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from fairlead.core import codec
from fairlead.core.problems import Problems
from fairlead.model import structure
from fairlead.model.custom.columns import column_of
from fairlead.model.custom.definition import names_of, storage_version
from fairlead.model.custom.embedded import check_embedded, trim_embedded
from fairlead.model.custom.jsonpath import simple_path
from fairlead.model.custom.rules import judge_rules
from fairlead.model.custom.schema import Known, SchemaNode, compile_schema
from fairlead.model.custom.shaping import drop_nulls, fill_defaults, prune
from fairlead.model.custom.types import types_of
from fairlead.model.custom.validating import judge, judge_lists
from fairlead.model.custom.versions import precedence
from fairlead.model.fields import FieldTables, ObjectType
from fairlead.model.kind import Json, Kind, Scale

_OPEN: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_OF_ALL = ("apiVersion", "kind", "metadata")
# Where `api/objects.py` puts the revision. What has none yet was written a moment ago.
_REVISION = re.compile(rb'\{"apiVersion":"[^"]*","kind":"[^"]*","metadata":\{"resourceVersion":"([0-9]+)"')
_tree = msgspec.json.Decoder(dict[str, Any]).decode


@dataclass(frozen=True, slots=True)
class DefinedKinds:
    """The kinds of a definition, the most preferred version first, and the types they bring into the field tables."""

    kinds: tuple[Kind, ...]
    schemas: Mapping[tuple[str, str], ReadSchema]  # by the name of the type, and the digest of what was read

    @property
    def types(self) -> Iterator[ObjectType]:
        for each in self.schemas.values():
            yield from each.types


@dataclass(frozen=True, slots=True)
class ReadSchema:
    """That of one version."""

    node: SchemaNode
    types: tuple[ObjectType, ...]


def made_of(
    definition: Json, revision: int, tables: FieldTables, before: DefinedKinds | None = None
) -> DefinedKinds:
    """`revision`: of the definition; what was stored before it is looked through again when it is read. `before`: what
    was made of the definition as it was; the schemas that have not changed are not read again."""
    served = [each for each in definition["spec"]["versions"] if each.get("served")]
    kinds: list[Kind] = []
    schemas: dict[tuple[str, str], ReadSchema] = {}
    known: Known = {}
    for version in sorted(served, key=lambda each: precedence(each["name"])):
        schema = _schema_of(version)
        type_name = f"{definition['spec']['group']}/{version['name']}.{names_of(definition)['kind']}"
        mark = (type_name, codec.digest(codec.encode(schema)))
        read = before.schemas.get(mark) if before is not None else None
        if read is None:
            node = compile_schema(schema, known)
            read = ReadSchema(node, types_of(node, type_name))
        schemas[mark] = read
        kinds.append(_kind(definition, version, revision, tables, type_name, read.node))
    return DefinedKinds(tuple(kinds), schemas)


def _schema_of(version: Json) -> Json:
    return (version.get("schema") or {}).get("openAPIV3Schema") or _OPEN


def _kind(
    definition: Json, version: Json, revision: int, tables: FieldTables, type_name: str, node: SchemaNode
) -> Kind:
    spec, names = definition["spec"], names_of(definition)
    group, name = spec["group"], version["name"]
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    stored = storage_version(definition)
    warning = _deprecation(version, f"{group}/{name}", names["kind"])
    return Kind(
        group=group,
        version=name,
        kind=names["kind"],
        plural=names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        schema=type_name,
        singular=names.get("singular") or "",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(each for each in ("status", "scale") if each in subresources),
        status_metadata=(),
        scale=_scale(scale) if scale else None,
        columns=tuple(column_of(each) for each in version.get("additionalPrinterColumns") or ()),
        defaults=_defaults(node),
        validate=_validate(node),
        validate_status=_validate_status(node),
        rules=_rules(node),
        selectable={
            each["jsonPath"].removeprefix("."): _selected(simple_path(each["jsonPath"]))
            for each in version.get("selectableFields") or ()
        },
        warnings=lambda obj: [warning] if warning else [],
        structure=_structure(node, tables),
        openapi=_schema_of(version),
        presented=_presented(node, f"{group}/{name}", name == stored and _one_schema(spec), revision),
        list_kind_name=names.get("listKind") or "",
        stored_version=stored,
        definition=definition["metadata"]["name"],
    )


def _deprecation(version: Json, api_version: str, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    given: str = version.get("deprecationWarning") or ""
    return given or f"{api_version} {kind} is deprecated"


def _scale(given: Json) -> Scale:
    selector = given.get("labelSelectorPath") or ""
    return Scale(
        simple_path(given["specReplicasPath"]),
        simple_path(given["statusReplicasPath"]),
        simple_path(selector) if selector else (),
    )


def _structure(node: SchemaNode, tables: FieldTables) -> Callable[[Json, list[str]], Problems]:
    def check(obj: Json, unknown: list[str]) -> Problems:
        """Metadata is as it is for all kinds; the rest is made to fit the schema, which is judged later."""
        decode = Problems()
        for name in _OF_ALL:
            if name in obj and obj[name] is None:
                del obj[name]
        metadata = obj.get("metadata")
        if metadata is not None:
            strange: list[str] = []
            found = structure.check(tables, "ObjectMeta", metadata, unknown=strange)
            decode.extend(
                type(each)(each.reason, each.message, f"metadata.{each.field}") for each in found.causes
            )
            unknown.extend(f"metadata.{each}" for each in strange)
            if not decode:
                structure.drop_nulls(metadata)
                for path in strange:
                    metadata.pop(path, None)
        prune(obj, node, unknown)
        trim_embedded(obj, node, tables)
        drop_nulls(obj, node)
        return decode

    return check


def _defaults(node: SchemaNode) -> Callable[[Json], None]:
    return lambda obj: fill_defaults(obj, node)


def _validate(node: SchemaNode) -> Callable[[Json, Problems], None]:
    def validate(obj: Json, problems: Problems) -> None:
        judge(obj, node, problems)
        judge_lists(obj, node, "", problems)
        check_embedded(obj, node, "", problems)

    return validate


def _rules(node: SchemaNode) -> Callable[[Json, Json | None, Problems], None] | None:
    if not node.rules_below:
        return None
    return lambda new, old, problems: judge_rules(new, old, node, problems)


def _validate_status(node: SchemaNode) -> Callable[[Json, Json, Problems], None]:
    """A write of the status judges the status alone: whatever else is wrong with the object cannot be changed there."""
    below = node.properties.get("status")

    def validate(new: Json, old: Json, problems: Problems) -> None:
        if below is not None and "status" in new:
            part = SchemaNode({"type": "object"})
            part.properties = {"status": below}
            judge({"status": new["status"]}, part, problems)
            judge_lists({"status": new["status"]}, part, "", problems)

    return validate


def _selected(path: tuple[str, ...]) -> Callable[[Json], str]:
    def text(obj: Json) -> str:
        value: Any = obj
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is None:
            return ""
        return str(value).lower() if isinstance(value, bool) else str(value)

    return text


def _one_schema(spec: Json) -> bool:
    """Whether what is written in any version is right in all of them."""
    served = [each.get("schema") for each in spec["versions"] if each.get("served")]
    return all(each == served[0] for each in served)


def _presented(
    node: SchemaNode, api_version: str, as_stored: bool, changed_at: int
) -> Callable[[bytes], bytes]:
    """As it would be if it were written now, in this version. `as_stored`: it was, if that is not too long ago."""

    def presented(data: bytes) -> bytes:
        if as_stored:
            found = _REVISION.match(data)
            if found is None or int(found[1]) > changed_at:
                return data
        obj = _tree(data)
        obj["apiVersion"] = api_version
        prune(obj, node, [])
        drop_nulls(obj, node)
        fill_defaults(obj, node)
        return msgspec.json.encode(obj)

    return presented

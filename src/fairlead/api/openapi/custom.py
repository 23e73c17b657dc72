"""The published schema of a custom kind, in the dialect of version 2 or 3. Used by `api/openapi/schemas.py` only.

Its definition brings the schema (`Kind.openapi`). Version 3 publishes it with what every object has filled in.
Version 2 knows less: what it has no words for is left out, and where a schema leaves values open (unknown fields are
preserved, null is allowed), version 2 says nothing of what is inside, or clients would refuse what the server takes.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.kind import Json, Kind

_V2_KEPT = frozenset(
    (
        "description", "title", "type", "format", "default", "enum", "required", "pattern", "multipleOf", "uniqueItems",
        "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "maxLength", "minLength", "maxItems", "minItems",
        "maxProperties", "minProperties",
    )
)  # fmt: skip
_PRESERVES = "x-kubernetes-preserve-unknown-fields"


def package(kind: Kind) -> str:
    """`com.example.v1` for example.com/v1."""
    return ".".join((*reversed(kind.group.split(".")), kind.version))


def published(kind: Kind, version: int, standard: Json, group_version_kind: Json) -> Json:
    """`standard` are the properties of every object: apiVersion, kind and metadata."""
    schema: Json = dict(kind.openapi or {"type": "object", _PRESERVES: True})
    if version == 2:
        schema = _swagger(schema)
    schema["type"] = "object"
    if "properties" in schema or not schema.get(_PRESERVES):
        schema["properties"] = {**schema.get("properties", {}), **standard}
    schema["x-kubernetes-group-version-kind"] = [group_version_kind]
    return schema


def _swagger(schema: Any) -> Json:
    """What version 2 can say of a schema of version 3, by the rules of Kubernetes' own conversion."""
    if not isinstance(schema, dict):
        return {}
    found: Json = {
        key: value for key, value in schema.items() if key in _V2_KEPT or key.startswith("x-kubernetes-")
    }
    open_inside = schema.get("nullable") or schema.get(_PRESERVES)
    if not open_inside:
        _inside(schema, found)
    if isinstance(schema.get("additionalProperties"), dict):
        found["additionalProperties"] = _swagger(schema["additionalProperties"])
    if open_inside or (found.get("type") == "array" and "items" not in found):
        found.pop("type", None)  # kubectl takes no type without what belongs to it
    return found


def _inside(schema: Json, found: Json) -> None:
    if isinstance(schema.get("items"), dict):
        found["items"] = _swagger(schema["items"])
    properties = schema.get("properties")
    if isinstance(properties, dict):
        found["properties"] = {name: _swagger(inner) for name, inner in properties.items()}
        may_be_null = {name for name, inner in properties.items() if inner.get("nullable")}
        required = [name for name in schema.get("required") or () if name not in may_be_null]
        if required:
            found["required"] = required
        else:
            found.pop("required", None)

"""The published schema of a custom kind, in the dialect of version 2 or 3. Used by `api/openapi_schemas.py` only.

Its definition brings the schema (`Kind.openapi`). Version 3 publishes it with what every object has filled in.
Version 2 knows less: what it has no words for is left out, and where a schema leaves values open (unknown fields are
preserved, null is allowed), version 2 says nothing of what is inside, or clients would refuse what the server takes.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.kind import Json, Kind

_V2_KEPT = frozenset({"description", "type", "format", "default", "enum", "required"})
_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EITHER = "x-kubernetes-int-or-string"


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
    """What version 2 can say of a schema of version 3."""
    if not isinstance(schema, dict):
        return {}
    found: Json = {
        key: value for key, value in schema.items() if key in _V2_KEPT or key.startswith("x-kubernetes-")
    }
    if schema.get(_EITHER) or schema.get("nullable"):
        for key in ("type", "format", "default", "enum", "required"):
            found.pop(key, None)
        return found
    if schema.get(_PRESERVES):
        found.pop("required", None)
        return found
    if isinstance(schema.get("properties"), dict):
        found["properties"] = {name: _swagger(inner) for name, inner in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        found["items"] = _swagger(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        found["additionalProperties"] = _swagger(schema["additionalProperties"])
    return found

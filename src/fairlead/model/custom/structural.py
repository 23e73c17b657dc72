"""What makes a schema structural, in Kubernetes' words: every value has a type, and what is said of it in anyOf, oneOf,
allOf and not restricts it without adding to its shape.

Called by `judging.py` for each version's schema. Most have nothing wrong with them, which
`sound_schemas.py` finds out quickly; here is what is told of the others. It goes first over everything that makes a
schema unusable, then over its defaults.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.custom.plain_rules import Patterns, check_plain
from fairlead.model.custom.schema import ANY_OF_INT_OR_STRING, SchemaNode
from fairlead.model.custom.schema_defaults import check_defaults
from fairlead.model.custom.schema_parts import check_types, count_schemas
from fairlead.model.custom.validating import Walk
from fairlead.model.kind import Json

#: bound: objects | schemas in the schema of a version | 422
SCHEMA_NODES_MAX = 25_000  # schemas within the schema of one version; about 1.5 MB of it
ROOT, ITEM, FIELD = "at the root", "for specified array items", "for specified object fields"
# What alternatives may not say, and why they may not.
_NOT_NESTED = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
)
_METADATA = "must not specify anything other than name and generateName, but metadata is implicitly specified"
_EMBEDDED = "must be object if x-kubernetes-embedded-resource is true"


def check_schema(schema: Json, path: str, problems: Problems) -> None:
    """Everything that is wrong with one version's openAPIV3Schema."""
    found = Problems()
    check_types(schema, path, found)
    if found:
        problems.extend(found.causes)
        return
    if count_schemas(schema, SCHEMA_NODES_MAX) > SCHEMA_NODES_MAX:
        problems.forbidden(path, f"a schema may hold at most {SCHEMA_NODES_MAX} schemas")
        return
    check_plain(schema, path, found, Patterns())
    _structural(schema, ROOT, path, found)
    if not found:
        check_defaults(schema, SchemaNode(schema), path, found, Walk(), inside_meta=False)
    problems.extend(found.causes)


def _structural(schema: Json, level: str, path: str, problems: Problems) -> None:
    kind = schema.get("type") or ""
    if kind == "array" and not isinstance(schema.get("items"), (dict, list)):
        problems.required(f"{path}.items", "must be specified")
    if isinstance(schema.get("items"), dict):
        _structural(schema["items"], ITEM, f"{path}.items", problems)
    for name, each in (schema.get("properties") or {}).items():
        _structural(each, FIELD, f"{path}.properties[{name}]", problems)
    if isinstance(schema.get("additionalProperties"), dict):
        _structural(schema["additionalProperties"], FIELD, f"{path}.additionalProperties", problems)
    preserve = schema.get("x-kubernetes-preserve-unknown-fields")
    int_or_string = schema.get("x-kubernetes-int-or-string")
    embedded = schema.get("x-kubernetes-embedded-resource")
    if preserve is False:
        problems.invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    if int_or_string and preserve:
        text = "must be false if x-kubernetes-int-or-string is true"
        problems.forbidden(f"{path}.x-kubernetes-preserve-unknown-fields", text)
    if int_or_string and kind:
        problems.forbidden(f"{path}.type", "must be empty if x-kubernetes-int-or-string is true")
    if embedded and int_or_string:
        text = "must be false if x-kubernetes-int-or-string is true"
        problems.forbidden(f"{path}.x-kubernetes-embedded-resource", text)
    check_alternatives(schema, path, problems)
    if embedded and kind != "object":
        if kind:
            problems.invalid(f"{path}.type", kind, _EMBEDDED)
        else:
            problems.required(f"{path}.type", _EMBEDDED)
    elif not kind and not int_or_string and not preserve:
        problems.required(f"{path}.type", f"must not be empty {level}")
    if level is ROOT and kind and kind != "object":
        problems.invalid(f"{path}.type", kind, "must be object at the root")
    if level is ROOT or embedded:
        check_resource(schema, level, path, problems)


def check_resource(schema: Json, level: str, path: str, problems: Problems) -> None:
    """What holds for schemas of whole objects, at the root and embedded."""
    known = schema.get("properties") or {}
    for name in ("kind", "apiVersion"):
        if name in known and known[name].get("type") != "string":
            problems.invalid(
                f"{path}.properties[{name}].type", known[name].get("type") or "", "must be string"
            )
    metadata = known.get("metadata")
    if metadata is not None:
        at = f"{path}.properties[metadata]"
        if metadata.get("type") != "object":
            problems.invalid(f"{at}.type", metadata.get("type") or "", "must be object")
        others = metadata.keys() - {"type", "properties", "default", "description"}
        if level is ROOT and (others or (metadata.get("properties") or {}).keys() - {"name", "generateName"}):
            problems.forbidden(at, _METADATA)
    if level is ROOT:
        return
    if schema.get("additionalProperties") is not None:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        problems.forbidden(f"{path}.additionalProperties", text)
    if not schema.get("x-kubernetes-preserve-unknown-fields") and not known:
        text = "must not be empty if x-kubernetes-embedded-resource is true without "
        problems.required(f"{path}.properties", f"{text}x-kubernetes-preserve-unknown-fields")


def check_alternatives(schema: Json, path: str, problems: Problems) -> None:
    """Types inside alternatives are allowed in the two forms that int-or-string is written in, and nowhere else."""
    listed = schema.get("x-kubernetes-int-or-string") or not schema.get("type")
    for name in ("allOf", "anyOf", "oneOf"):
        for index, each in enumerate(schema.get(name) or ()):
            at = f"{path}.{name}[{index}]"
            typed = bool(listed) and (
                (name == "anyOf" and schema["anyOf"] == ANY_OF_INT_OR_STRING)
                or (name == "allOf" and index == 0 and each.get("anyOf") == ANY_OF_INT_OR_STRING)
            )
            _nested(each, schema, path, at, problems, typed=typed)
    if isinstance(schema.get("not"), dict):
        _nested(schema["not"], schema, path, f"{path}.not", problems, typed=False)


def _nested(
    schema: Json, outer: Json, outer_path: str, path: str, problems: Problems, *, typed: bool
) -> None:
    """`outer` is what stands outside of all alternatives: it must name every field that is spoken of in here."""
    for name, why in _NOT_NESTED:
        if schema.get(name) not in (None, "", False, [], {}) and not (typed and name == "type"):
            problems.forbidden(f"{path}.{name}", why)
    if "metadata" in (schema.get("properties") or {}) and outer_path.endswith("openAPIV3Schema"):
        problems.forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")
    known = outer.get("properties") or {}
    for name, each in (schema.get("properties") or {}).items():
        at = f"{path}.properties[{name}]"
        if name not in known and not isinstance(outer.get("additionalProperties"), dict):
            problems.required(f"{outer_path}.properties[{name}]", f"because it is defined in {at}")
        _nested(each, known.get(name) or {}, f"{outer_path}.properties[{name}]", at, problems, typed=False)
    if isinstance(schema.get("items"), dict):
        items = outer.get("items")
        if not isinstance(items, dict):
            problems.required(f"{outer_path}.items", f"because it is defined in {path}.items")
            items = {}
        _nested(schema["items"], items, f"{outer_path}.items", f"{path}.items", problems, typed=False)
    for name in ("allOf", "anyOf", "oneOf"):
        for index, each in enumerate(schema.get(name) or ()):
            inner = typed and name == "anyOf" and schema["anyOf"] == ANY_OF_INT_OR_STRING
            _nested(each, outer, outer_path, f"{path}.{name}[{index}]", problems, typed=inner)
    if isinstance(schema.get("not"), dict):
        _nested(schema["not"], outer, outer_path, f"{path}.not", problems, typed=False)

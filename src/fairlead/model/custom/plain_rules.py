"""Rules that hold for each schema of a definition by itself, wherever it stands. Called by `structural.py`, on schemas
whose parts are of the right types (`schema_parts.py`)."""

from __future__ import annotations

from fairlead.core.problems import PROBLEMS_MAX, Problems
from fairlead.model.custom.patterns import Pattern, PatternError, compile_pattern
from fairlead.model.custom.schema_parts import list_subschemas
from fairlead.model.kind import Json

#: bound: objects | states of all patterns of a version | 422
SCHEMA_STATES_MAX = 50_000  # of the patterns of one schema, each counted once
TYPES = ("array", "boolean", "integer", "number", "object", "string")
_FORBIDDEN = (
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("additionalItems", "additionalItems is not supported"),
    ("id", "id is not supported"),
    ("$ref", "$ref is not supported"),
    ("$schema", "$schema is not supported"),
)


class Patterns(dict[str, Pattern]):
    """Those of one schema."""

    states = 0


def check_plain(schema: Json, path: str, problems: Problems, patterns: Patterns) -> None:
    """Rules that hold for each schema by itself, also inside alternatives. `patterns`: those that were read so far."""
    for name, why in _FORBIDDEN:
        if schema.get(name):
            problems.forbidden(f"{path}.{name}", why)
    kind = schema.get("type") or ""
    if kind and kind not in TYPES:
        problems.unsupported(f"{path}.type", kind, TYPES)
    if isinstance(schema.get("items"), list):
        problems.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        problems.forbidden(f"{path}.uniqueItems", text)
    values = schema.get("additionalProperties")
    if values is not None and schema.get("properties") and values is not True:
        text = "additionalProperties and properties are mutual exclusive"
        problems.forbidden(f"{path}.additionalProperties", text)
    if values is False:
        problems.forbidden(f"{path}.additionalProperties", "additionalProperties cannot be set to false")
    if schema.get("pattern"):
        check_pattern(schema["pattern"], f"{path}.pattern", problems, patterns)
    if schema.get("multipleOf") is not None and schema["multipleOf"] <= 0:
        problems.invalid(f"{path}.multipleOf", schema["multipleOf"], "must be greater than 0")
    check_lists(schema, path, problems)
    for where, each in list_subschemas(schema):
        check_plain(each, path + where, problems, patterns)


def check_pattern(text: str, at: str, problems: Problems, known: Patterns) -> None:
    """Each is read once, and no more of them than can be told of or kept."""
    if text in known or len(problems.causes) >= PROBLEMS_MAX:
        return
    if known.states > SCHEMA_STATES_MAX:
        problems.forbidden(
            at, f"the patterns of a schema may need at most {SCHEMA_STATES_MAX} states together"
        )
        return
    try:
        known[text] = compile_pattern(text)
        known.states += known[text].states
    except PatternError as error:
        told = f"must be a valid regular expression, but isn't: error parsing regexp: {error}"
        problems.invalid(at, text, told)


def check_lists(schema: Json, path: str, problems: Problems) -> None:
    kind, list_type, keys = (
        schema.get("type"),
        schema.get("x-kubernetes-list-type"),
        schema.get("x-kubernetes-list-map-keys"),
    )
    at_type, at_keys = f"{path}.x-kubernetes-list-type", f"{path}.x-kubernetes-list-map-keys"
    if list_type is not None and kind != "array":
        if not kind:
            problems.required(f"{path}.type", "must be array if x-kubernetes-list-type is specified")
        else:
            problems.invalid(f"{path}.type", kind, "must be array if x-kubernetes-list-type is specified")
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        problems.unsupported(at_type, list_type, ("atomic", "set", "map"))
    if keys:
        if list_type is None:
            problems.required(at_type, "must be map if x-kubernetes-list-map-keys is non-empty")
        elif list_type != "map":
            problems.invalid(at_type, list_type, "must be map if x-kubernetes-list-map-keys is non-empty")
    map_type = schema.get("x-kubernetes-map-type")
    if map_type is not None:
        if kind != "object":
            problems.invalid(
                f"{path}.type", kind or "", "must be object if x-kubernetes-map-type is specified"
            )
        if map_type not in ("granular", "atomic"):
            problems.unsupported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"))
    items = schema.get("items")
    if not isinstance(items, dict) or list_type not in ("map", "set"):
        return
    if items.get("nullable"):
        text = f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        problems.forbidden(f"{path}.items.nullable", text)
    if list_type == "map":
        _list_keys(items, keys or [], path, at_keys, problems)
    elif items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        text = "must be atomic as item of a list with x-kubernetes-list-type=set"
        problems.invalid(f"{path}.items.x-kubernetes-map-type", items.get("x-kubernetes-map-type"), text)
    elif items.get("type") == "array" and items.get("x-kubernetes-list-type") not in (None, "atomic"):
        text = "must be atomic as item of a list with x-kubernetes-list-type=set"
        problems.invalid(f"{path}.items.x-kubernetes-list-type", items.get("x-kubernetes-list-type"), text)


def _list_keys(items: Json, keys: list[str], path: str, at_keys: str, problems: Problems) -> None:
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        problems.invalid(f"{path}.items.type", items.get("type") or "", text)
    if not keys:
        problems.required(at_keys, "must not be empty if x-kubernetes-list-type is map")
    known, required = items.get("properties") or {}, items.get("required") or ()
    for index, key in enumerate(keys):
        if key in keys[:index]:
            problems.duplicate(f"{at_keys}[{index}]", key)
        below = known.get(key)
        if below is None:
            text = "entries must all be names of item properties"
            problems.invalid(f"{at_keys}[{index}]", key, text)
            continue
        at = f"{path}.items.properties[{key}]"
        if below.get("type") in ("array", "object"):
            problems.invalid(
                f"{at}.type",
                below["type"],
                "must be a scalar type if parent array's x-kubernetes-list-type is map",
            )
        listed = "this property is in x-kubernetes-list-map-keys, so it"
        if key not in required and "default" not in below:
            problems.required(f"{at}.default", f"{listed} must have a default or be a required property")
        if below.get("nullable"):
            problems.forbidden(f"{at}.nullable", f"{listed} cannot be nullable")

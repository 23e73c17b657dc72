"""Schemas as they come: whether each is a schema at all, and what is below one. First of all in `structural.py`.

The field tables say what a schema holds but for what is below additionalProperties, and for lists of names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.core.problems import Problems
from fairlead.model.kind import Json

_NAMED = {str: "string", int: "integer", list: "array", bool: "boolean", dict: "object"}
_TYPED: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("type", "format", "pattern", "title", "description"), (str,)),
    **dict.fromkeys(("x-kubernetes-list-type", "x-kubernetes-map-type"), (str,)),
    **dict.fromkeys(
        ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), (int,)
    ),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), (int, float)),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "required", "enum", "x-kubernetes-list-map-keys"), (list,)),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "nullable", "uniqueItems"), (bool,)),
    "x-kubernetes-validations": (list,),
    "properties": (dict,),
    "not": (dict,),
    "additionalProperties": (dict, bool),
    "x-kubernetes-preserve-unknown-fields": (bool,),
    "x-kubernetes-int-or-string": (bool,),
    "x-kubernetes-embedded-resource": (bool,),
}


def check_types(schema: Any, path: str, problems: Problems) -> None:
    if not isinstance(schema, dict):
        problems.invalid(path, schema, "must be a schema")
        return
    for name, value in schema.items():
        if value is not None and name in _TYPED and not is_of(value, _TYPED[name]):
            _tell_type(schema, path, problems)
            return
    for name in ("required", "x-kubernetes-list-map-keys"):
        if not all(isinstance(each, str) for each in schema.get(name) or ()):
            problems.invalid(f"{path}.{name}", schema[name], "must be a list of names")
            return
    for where, each in list_subschemas(schema):
        check_types(each, path + where, problems)


def _tell_type(schema: Json, path: str, problems: Problems) -> None:
    """The first, in our order, of those that have a wrong type: one is reported for each schema."""
    for name, kinds in _TYPED.items():
        value = schema.get(name)
        if value is not None and not is_of(value, kinds):
            problems.invalid(f"{path}.{name}", value, f"must be of type {_NAMED[kinds[0]]}")
            return


def is_of(value: Any, kinds: tuple[type, ...]) -> bool:
    """True is no integer here."""
    return isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)


def list_subschemas(schema: Json) -> Iterator[tuple[str, Json]]:
    """Every schema right below this one, with the path that leads to it."""
    for name, each in (schema.get("properties") or {}).items():
        yield f".properties[{name}]", each
    for name in ("additionalProperties", "items", "not"):
        if isinstance(schema.get(name), dict):
            yield f".{name}", schema[name]
    for name in ("allOf", "anyOf", "oneOf"):
        for index, each in enumerate(schema.get(name) or ()):
            yield f".{name}[{index}]", each


def count_schemas(schema: Json, most: int) -> int:
    """How many schemas this is; when there are more than `most`, no more are counted."""
    found, pending = 0, [schema]
    while pending and found <= most:
        each = pending.pop()
        found += 1
        pending += (each.get("properties") or {}).values()
        pending += [
            each[name] for name in ("additionalProperties", "items", "not") if type(each.get(name)) is dict
        ]
        for name in ("allOf", "anyOf", "oneOf"):
            pending += each.get(name) or ()
    return found


def first_rule(schema: Json, path: str) -> str:
    """Where the first rule in CEL is; "" if there is none."""
    if schema.get("x-kubernetes-validations"):
        return f"{path}.x-kubernetes-validations"
    for where, each in list_subschemas(schema):
        found = first_rule(each, path + where)
        if found:
            return found
    return ""

"""A structural schema, read once: what `shaping.py` (pruning, defaults), `validating.py` and `types.py` walk along.

`compile_schema` takes a JSONSchemaProps that `structural.py` has nothing against. Nodes are never changed, so schemas
that say the same in a few words (a text, a number from 0 to 10) may share one.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.custom.patterns import compile_pattern
from fairlead.model.custom.rules import ValidationRule, needs_conversion, rules_of
from fairlead.model.kind import Json

# Stands for "no default": null is one.
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
ANY_OF_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


class SchemaNode:
    """One schema. `types` is empty where anything goes."""

    __slots__ = (
        "all_of",
        "any_of",
        "converts",
        "default",
        "defaults_below",
        "embedded",
        "enum",
        "exclusive_maximum",
        "exclusive_minimum",
        "format",
        "int_or_string",
        "items",
        "list_keys",
        "list_type",
        "map_type",
        "max_items",
        "max_length",
        "max_properties",
        "maximum",
        "min_items",
        "min_length",
        "min_properties",
        "minimum",
        "multiple_of",
        "negated",
        "nullable",
        "one_of",
        "open",
        "pattern",
        "preserve",
        "properties",
        "required",
        "rules",
        "rules_below",
        "types",
        "values",
    )

    def __init__(self, schema: Json, known: Known | None = None) -> None:
        """`known`: nodes that may be shared; new ones are added."""
        if known is None:
            known = {}
        self.int_or_string = bool(schema.get("x-kubernetes-int-or-string"))
        kind: str = schema.get("type") or ""
        self.types: tuple[str, ...] = (kind,) if kind else ("integer", "string") if self.int_or_string else ()
        self.nullable = bool(schema.get("nullable"))
        self.preserve = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded = bool(schema.get("x-kubernetes-embedded-resource"))
        self.format: str = schema.get("format") or ""
        self.properties = {
            name: _node(each, known) for name, each in (schema.get("properties") or {}).items()
        }
        self.required: tuple[str, ...] = tuple(schema.get("required") or ())
        values = schema.get("additionalProperties")
        self.values = _node(values, known) if isinstance(values, dict) else None
        self.open = values is True
        items = schema.get("items")
        self.items = _node(items, known) if isinstance(items, dict) else None
        self.enum: list[Any] | None = schema.get("enum") or None
        self.default: Any = schema.get("default", MISSING)
        self.pattern = compile_pattern(schema["pattern"]) if schema.get("pattern") else None
        self.min_length: int | None = schema.get("minLength")
        self.max_length: int | None = schema.get("maxLength")
        self.minimum: float | None = schema.get("minimum")
        self.maximum: float | None = schema.get("maximum")
        self.exclusive_minimum = bool(schema.get("exclusiveMinimum"))
        self.exclusive_maximum = bool(schema.get("exclusiveMaximum"))
        self.multiple_of: float | None = schema.get("multipleOf")
        self.min_items: int | None = schema.get("minItems")
        self.max_items: int | None = schema.get("maxItems")
        self.min_properties: int | None = schema.get("minProperties")
        self.max_properties: int | None = schema.get("maxProperties")
        self.all_of = tuple(_node(each, known) for each in schema.get("allOf") or ())
        self.any_of = tuple(_node(each, known) for each in schema.get("anyOf") or ())
        self.one_of = tuple(_node(each, known) for each in schema.get("oneOf") or ())
        negated = schema.get("not")
        self.negated = _node(negated, known) if isinstance(negated, dict) else None
        self.list_type: str = schema.get("x-kubernetes-list-type") or ""
        self.list_keys: tuple[str, ...] = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        self.map_type: str = schema.get("x-kubernetes-map-type") or ""
        below = (*self.properties.values(), self.values, self.items)
        self.defaults_below: bool = any(
            each is not None and (each.default is not MISSING or each.defaults_below) for each in below
        )
        self.converts: bool = needs_conversion(self)
        self.rules: tuple[ValidationRule, ...] = rules_of(schema, self)
        self.rules_below: bool = bool(self.rules) or any(
            each is not None and each.rules_below for each in below
        )

    @property
    def has_default(self) -> bool:
        return self.default is not MISSING


Known = dict[tuple[tuple[str, Any], ...], SchemaNode]
_FOR_PEOPLE = frozenset({"description", "title", "example", "externalDocs"})
_OF_ONE_WORD = frozenset({str, int, float, bool})


def compile_schema(schema: Json, known: Known | None = None) -> SchemaNode:
    """`known`: nodes of other schemas, which may be shared."""
    return SchemaNode(schema, known)


def _node(schema: Json, known: Known) -> SchemaNode:
    # The type of a default counts as well: 1 and true are the same key.
    if "properties" in schema or "items" in schema or "default" in schema:
        return SchemaNode(schema, known)
    said: list[tuple[str, Any]] = []
    for word in schema.items():
        if word[0] in _FOR_PEOPLE:
            continue
        if type(word[1]) not in _OF_ONE_WORD:
            return SchemaNode(schema, known)
        said.append(word)
    words = tuple(said)
    found = known.get(words)
    if found is None:
        found = known[words] = SchemaNode(schema, known)
    return found

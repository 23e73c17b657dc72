"""A quick look at a schema: whether it is surely right. One pass, and no paths, which only mistakes need.

Called by `judging.py`. What is found sound here `structural.py` has nothing against. False means "cannot tell": what is
rare is left to those rules as a matter of course, and everything that is wrong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.core.problems import Problems
from fairlead.model.custom import structural
from fairlead.model.custom.plain_rules import TYPES, Patterns, check_lists, check_pattern, check_plain
from fairlead.model.custom.schema import ANY_OF_INT_OR_STRING, SchemaNode
from fairlead.model.custom.schema_defaults import check_defaults
from fairlead.model.custom.schema_parts import check_types, count_schemas, first_rule, is_of
from fairlead.model.custom.structural import FIELD, ROOT, check_alternatives, check_resource
from fairlead.model.custom.validating import TooCostlyError, Walk
from fairlead.model.kind import Json


class Look(NamedTuple):
    """`rules`: whether there is one in CEL, in a schema that is sound."""

    sound: bool
    rules: bool = False


def look(schema: Any) -> Look:
    """At the schema of one version."""
    glance = _Glance()
    try:
        glance.root(schema)
    except (_DoubtfulError, TooCostlyError):
        return Look(False)
    return Look(True, glance.rules)


class _DoubtfulError(Exception):
    """Somebody has to look closer."""


# What needs no more than to be of its type.
_HARMLESS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("description", "title", "format"), (str,)),
    **dict.fromkeys(
        ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), (int,)
    ),
    **dict.fromkeys(("maximum", "minimum"), (int, float)),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "nullable"), (bool,)),
    "x-kubernetes-int-or-string": (bool,),
    "x-kubernetes-preserve-unknown-fields": (bool,),
    "x-kubernetes-embedded-resource": (bool,),
    "x-kubernetes-list-type": (str,),
    "x-kubernetes-map-type": (str,),
    "enum": (list,),
    "pattern": (str,),
}
_ALTERNATIVES = frozenset({"allOf", "anyOf", "oneOf", "not"})
_ABOUT_LISTS = frozenset({"x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"})
# Types whose plain values are right by themselves, and what may stand beside such a default without saying more of it.
_PLAIN_VALUES = {"string": str, "boolean": bool}
_SAYS_NO_MORE = frozenset({"type", "description", "title", "default", "enum", "nullable"})
_CHEAP_PER_STEP = 8


class _Glance:
    __slots__ = ("_costly", "_patterns", "_problems", "_schemas", "_walk", "rules")

    def __init__(self) -> None:
        self._schemas = 0
        self._patterns = Patterns()
        self._problems = Problems()
        self._walk = Walk()
        self._costly: list[Json] = []  # with defaults that must be judged
        self.rules = False

    def root(self, schema: Any) -> None:
        if type(schema) is not dict or schema.get("type") != "object":
            raise _DoubtfulError
        self._schema(schema, root=True, settled=False, meta=False)
        for each in self._costly:
            check_defaults(each, SchemaNode(each), "", self._problems, self._walk, inside_meta=False)
        self._no_problems()

    def _no_problems(self) -> None:
        if self._problems:
            raise _DoubtfulError

    def _count(self, more: int = 1) -> None:
        self._schemas += more
        if self._schemas > structural.SCHEMA_NODES_MAX:
            raise _DoubtfulError

    def _schema(self, schema: Any, root: bool, settled: bool, meta: bool) -> None:
        """`settled`: the defaults in here are judged together with another; `meta`: there may be none."""
        if type(schema) is not dict:
            raise _DoubtfulError
        self._count()
        kind = schema.get("type")
        if kind not in TYPES if kind is not None else not _is_free(schema):
            raise _DoubtfulError
        if len(schema) == 1 and kind != "array":
            return  # a type and nothing else
        embedded = schema.get("x-kubernetes-embedded-resource")
        if "default" in schema:
            if meta:
                raise _DoubtfulError
            if not settled and not self._plain_default(schema, kind):
                self._costly.append(schema)
                settled = True
        for name, value in schema.items():
            kinds = _HARMLESS.get(name)
            if kinds is not None:
                if type(value) not in kinds:
                    raise _DoubtfulError
            elif name == "properties":
                if type(value) is not dict:
                    raise _DoubtfulError
                for key, each in value.items():
                    inner = meta or (key == "metadata" and bool(root or embedded))
                    self._schema(each, root=False, settled=settled, meta=inner)
            elif name == "items":
                self._schema(value, root=False, settled=settled, meta=meta)
            elif name == "additionalProperties":
                if value is not True:
                    self._schema(value, root=False, settled=settled, meta=meta)
            elif name not in _KNOWN:
                raise _DoubtfulError
        self._together(schema, kind, root, embedded)

    def _together(self, schema: Json, kind: str | None, root: bool, embedded: Any) -> None:
        """What its parts must be beside each other. All that is below is known to be right."""
        keys = schema.keys()
        for name in ("required", "x-kubernetes-list-map-keys"):
            if name in schema and not _are_names(schema[name]):
                raise _DoubtfulError
        if kind == "array" and "items" not in schema:
            raise _DoubtfulError
        if schema.get("additionalProperties", True) is not True and "properties" in schema:
            raise _DoubtfulError
        if "multipleOf" in schema and not (
            is_of(schema["multipleOf"], (int, float)) and schema["multipleOf"] > 0
        ):
            raise _DoubtfulError
        if schema.get("uniqueItems", False) is not False:
            raise _DoubtfulError
        if "pattern" in schema:
            check_pattern(schema["pattern"], "", self._problems, self._patterns)
        if kind is not None and schema.get("x-kubernetes-int-or-string"):
            raise _DoubtfulError
        if schema.get("x-kubernetes-preserve-unknown-fields") is False:
            raise _DoubtfulError
        rules = schema.get("x-kubernetes-validations")
        if rules is not None:
            if type(rules) is not list:
                raise _DoubtfulError
            self.rules = self.rules or bool(rules)
        if not _ALTERNATIVES.isdisjoint(keys):
            self._alternatives(schema, root)
        if not _ABOUT_LISTS.isdisjoint(keys):
            check_lists(schema, "", self._problems)
        if embedded and kind != "object":
            raise _DoubtfulError
        if root or embedded:
            check_resource(schema, ROOT if root else FIELD, "", self._problems)
        self._no_problems()

    def _alternatives(self, schema: Json, root: bool) -> None:
        if schema.get("anyOf") == ANY_OF_INT_OR_STRING and schema.get("x-kubernetes-int-or-string"):
            self._count(2)
            if _ALTERNATIVES.isdisjoint(schema.keys() - {"anyOf"}):
                return
        inner = {name: schema[name] for name in _ALTERNATIVES if name in schema}
        check_types(inner, "", self._problems)
        self._no_problems()
        self._count(count_schemas(inner, structural.SCHEMA_NODES_MAX))
        check_plain(inner, "", self._problems, self._patterns)
        check_alternatives(schema, "openAPIV3Schema" if root else "", self._problems)
        self.rules = self.rules or bool(first_rule(inner, ""))

    def _plain_default(self, schema: Json, kind: str | None) -> bool:
        """Whether it is seen at once that the default is right."""
        value: Any = schema["default"]
        if type(value) is not _PLAIN_VALUES.get(kind or "") or not schema.keys() <= _SAYS_NO_MORE:
            return False
        allowed = schema.get("enum")
        if allowed is not None and (type(allowed) is not list or (allowed and value not in allowed)):
            return False
        if type(value) is bool and allowed:
            return False  # 1 is in there as well
        self._walk.spend(1 + (len(value) // _CHEAP_PER_STEP if isinstance(value, str) else 0))
        self._walk.spend(len(allowed or ()) // _CHEAP_PER_STEP)
        return True


_KNOWN = frozenset(
    {
        "multipleOf",
        "uniqueItems",
        "type",
        "default",
        "required",
        "example",
        "externalDocs",
        "x-kubernetes-validations",
        *_ALTERNATIVES,
        *_ABOUT_LISTS,
    }
)


def _is_free(schema: Json) -> bool:
    """Without a type a schema must say why."""
    return (schema.get("x-kubernetes-int-or-string") is True) is not (
        schema.get("x-kubernetes-preserve-unknown-fields") is True
    )


def _are_names(value: Any) -> bool:
    return type(value) is list and all(type(each) is str for each in value)

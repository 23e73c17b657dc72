"""What makes a schema structural, in Kubernetes' words: every value has a type, and what is said of it in anyOf, oneOf,
allOf and not restricts it without adding to its shape.

Called by `model/kinds/customresourcedefinition.py` for each version's schema. It goes first over everything that makes
a schema unusable, then over its defaults, which must be right by the schema themselves.
"""

from __future__ import annotations

from typing import Any

from fairlead.core import codec
from fairlead.core.problems import PROBLEMS_MAX, Problems
from fairlead.model.custom.pattern_syntax import PatternError
from fairlead.model.custom.patterns import Pattern, compiled
from fairlead.model.custom.schema import ANY_OF_INT_OR_STRING, MISSING, Node
from fairlead.model.custom.shaping import fill_defaults, prune
from fairlead.model.custom.validating import Walk, judge, judge_lists
from fairlead.model.kind import Json

SCHEMA_NODES_MAX = 25_000  # schemas within the schema of one version; about 1.5 MB of it
SCHEMA_STATES_MAX = 50_000  # of its patterns, each counted once
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_FORBIDDEN = (
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("additionalItems", "additionalItems is not supported"),
    ("id", "id is not supported"),
    ("$ref", "$ref is not supported"),
    ("$schema", "$schema is not supported"),
)
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
    "properties": (dict,),
    "not": (dict,),
    "additionalProperties": (dict, bool),
    "x-kubernetes-preserve-unknown-fields": (bool,),
    "x-kubernetes-int-or-string": (bool,),
    "x-kubernetes-embedded-resource": (bool,),
}
_METADATA = "must not specify anything other than name and generateName, but metadata is implicitly specified"
_EMBEDDED = "must be object if x-kubernetes-embedded-resource is true"


class _Patterns(dict[str, Pattern]):
    """Those of one schema."""

    states = 0


def check_schema(schema: Json, path: str, problems: Problems) -> None:
    """Everything that is wrong with one version's openAPIV3Schema."""
    found = Problems()
    _typed(schema, path, found)
    if found:
        problems.extend(found.causes)
        return
    if _size(schema) > SCHEMA_NODES_MAX:
        problems.forbidden(path, f"a schema may hold at most {SCHEMA_NODES_MAX} schemas")
        return
    _plain(schema, path, found, _Patterns())
    _structural(schema, _ROOT, path, found)
    if not found:
        _defaults(schema, Node(schema), path, found, Walk(), inside_meta=False)
    problems.extend(found.causes)


def _below(schema: Json) -> list[tuple[str, Json]]:
    """Every schema right below this one, with the path that leads to it."""
    found = [(f".properties[{name}]", each) for name, each in (schema.get("properties") or {}).items()]
    for name in ("additionalProperties", "items", "not"):
        if isinstance(schema.get(name), dict):
            found.append((f".{name}", schema[name]))
    for name in ("allOf", "anyOf", "oneOf"):
        found += [(f".{name}[{index}]", each) for index, each in enumerate(schema.get(name) or ())]
    return found


def _typed(schema: Any, path: str, problems: Problems) -> None:
    """What the tables leave open: schemas below additionalProperties, and lists of names."""
    if not isinstance(schema, dict):
        problems.invalid(path, schema, "must be a schema")
        return
    for name, kinds in _TYPED.items():
        value = schema.get(name)
        if value is not None and (
            not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)
        ):
            problems.invalid(f"{path}.{name}", value, f"must be of type {_NAMED[kinds[0]]}")
            return
    for name in ("required", "x-kubernetes-list-map-keys"):
        if not all(isinstance(each, str) for each in schema.get(name) or ()):
            problems.invalid(f"{path}.{name}", schema[name], "must be a list of names")
            return
    for where, each in _below(schema):
        _typed(each, path + where, problems)


def _size(schema: Json) -> int:
    count, pending = 0, [schema]
    while pending and count <= SCHEMA_NODES_MAX:
        each = pending.pop()
        count += 1
        pending += [below for _, below in _below(each)]
    return count


def _plain(schema: Json, path: str, problems: Problems, patterns: _Patterns) -> None:
    """Rules that hold for each schema by itself, also inside alternatives. `patterns`: those that were read so far."""
    for name, why in _FORBIDDEN:
        if schema.get(name):
            problems.forbidden(f"{path}.{name}", why)
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES:
        problems.unsupported(f"{path}.type", kind, _TYPES)
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
        _pattern(schema["pattern"], f"{path}.pattern", problems, patterns)
    if schema.get("multipleOf") is not None and schema["multipleOf"] <= 0:
        problems.invalid(f"{path}.multipleOf", schema["multipleOf"], "must be greater than 0")
    _lists(schema, path, problems)
    for where, each in _below(schema):
        _plain(each, path + where, problems, patterns)


def _pattern(text: str, at: str, problems: Problems, known: _Patterns) -> None:
    """Each is read once, and no more of them than can be told of or kept."""
    if text in known or len(problems.causes) >= PROBLEMS_MAX:
        return
    if known.states > SCHEMA_STATES_MAX:
        problems.forbidden(
            at, f"the patterns of a schema may need at most {SCHEMA_STATES_MAX} states together"
        )
        return
    try:
        known[text] = compiled(text)
        known.states += known[text].states
    except (PatternError, RecursionError) as error:
        told = f"must be a valid regular expression, but isn't: error parsing regexp: {error}"
        problems.invalid(at, text, told)


def _lists(schema: Json, path: str, problems: Problems) -> None:
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


def _structural(schema: Json, level: str, path: str, problems: Problems) -> None:
    kind = schema.get("type") or ""
    if kind == "array" and not isinstance(schema.get("items"), (dict, list)):
        problems.required(f"{path}.items", "must be specified")
    if isinstance(schema.get("items"), dict):
        _structural(schema["items"], _ITEM, f"{path}.items", problems)
    for name, each in (schema.get("properties") or {}).items():
        _structural(each, _FIELD, f"{path}.properties[{name}]", problems)
    if isinstance(schema.get("additionalProperties"), dict):
        _structural(schema["additionalProperties"], _FIELD, f"{path}.additionalProperties", problems)
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
    _alternatives(schema, path, problems)
    if embedded and kind != "object":
        if kind:
            problems.invalid(f"{path}.type", kind, _EMBEDDED)
        else:
            problems.required(f"{path}.type", _EMBEDDED)
    elif not kind and not int_or_string and not preserve:
        problems.required(f"{path}.type", f"must not be empty {level}")
    if level is _ROOT and kind and kind != "object":
        problems.invalid(f"{path}.type", kind, "must be object at the root")
    if level is _ROOT or embedded:
        _resource(schema, level, path, problems)


def _resource(schema: Json, level: str, path: str, problems: Problems) -> None:
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
        if level is _ROOT and (
            others or (metadata.get("properties") or {}).keys() - {"name", "generateName"}
        ):
            problems.forbidden(at, _METADATA)
    if level is _ROOT:
        return
    if schema.get("additionalProperties") is not None:
        text = "must not be used if x-kubernetes-embedded-resource is set"
        problems.forbidden(f"{path}.additionalProperties", text)
    if not schema.get("x-kubernetes-preserve-unknown-fields") and not known:
        text = "must not be empty if x-kubernetes-embedded-resource is true without "
        problems.required(f"{path}.properties", f"{text}x-kubernetes-preserve-unknown-fields")


def _alternatives(schema: Json, path: str, problems: Problems) -> None:
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


def _defaults(
    schema: Json, node: Node, path: str, problems: Problems, walk: Walk, *, inside_meta: bool
) -> None:
    """A default is an object like any other: pruned it must stay as it is, and nothing may be wrong with it."""
    if node.default is not MISSING:
        _default(node, path, problems, walk, inside_meta)
    for name, each in (schema.get("properties") or {}).items():
        meta = inside_meta or (name == "metadata" and (node.embedded or path.endswith("openAPIV3Schema")))
        _defaults(each, node.properties[name], f"{path}.properties[{name}]", problems, walk, inside_meta=meta)
    if node.values is not None:
        at = f"{path}.additionalProperties"
        _defaults(schema["additionalProperties"], node.values, at, problems, walk, inside_meta=inside_meta)
    if node.items is not None:
        _defaults(schema["items"], node.items, f"{path}.items", problems, walk, inside_meta=inside_meta)


def _default(node: Node, path: str, problems: Problems, walk: Walk, inside_meta: bool) -> None:
    at = f"{path}.default"
    if inside_meta:
        problems.forbidden(at, "must not be set in top-level metadata")
        return
    value: Any = [node.default]  # held in something, so that it can be replaced
    unknown: list[str] = []
    holder = Node({"type": "array"})
    holder.items = node
    copy = codec.clone(value)
    prune(copy, holder, unknown, root=False)
    if unknown:
        problems.invalid(at, node.default, f"must not have unknown fields: {', '.join(unknown)[:200]}")
    fill_defaults(copy, holder)
    found = Problems()
    judge(copy[0], node, found, walk)
    judge_lists(copy[0], node, "", found)
    for cause in found.causes:
        where = f"{at}.{cause.field}" if cause.field and cause.field != "<nil>" else at
        problems.extend([type(cause)(cause.reason, cause.message, where)])


def rules_in(schema: Json, path: str) -> str:
    """Where the first rule in CEL is, or "" if there is none or the schema is no schema."""
    trouble = Problems()
    _typed(schema, path, trouble)
    return "" if trouble else _first_rule(schema, path)


def _first_rule(schema: Json, path: str) -> str:
    if schema.get("x-kubernetes-validations"):
        return f"{path}.x-kubernetes-validations"
    for where, each in _below(schema):
        found = _first_rule(each, path + where)
        if found:
            return found
    return ""

"""Rules in CEL of custom kinds (`x-kubernetes-validations`): compiled with the schema, asked when an object is written.

`schema.py` compiles them with each node; `check_rules` tells what is wrong with those of a definition that is written,
`judge_rules` runs them over an object, with the object as it was before where there is one. A rule that does not look
at `oldSelf` is not asked about a part of the object that has not changed: what stands was judged when it came there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from fairlead.core.problems import Problems
from fairlead.core.times import parse_duration
from fairlead.model.apply.equal import same
from fairlead.model.cel.errors import EvaluationError, ExpressionError
from fairlead.model.cel.library.standard import timestamp_of
from fairlead.model.cel.program import Budget, Program, compile_expression
from fairlead.model.cel.static import DYN, OPTIONAL, STRING, UNKNOWN_SIZE, StaticType
from fairlead.model.cel.values import NONE, Duration, KeyedList, OptionalValue, SetList
from fairlead.model.custom.schema_parts import list_subschemas
from fairlead.model.kind import Json

if TYPE_CHECKING:
    from fairlead.model.custom.schema import SchemaNode

#: bound: objects | rules in CEL of one schema | 422
RULES_MAX = 64
_REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
_BOOL, _STRING = frozenset({"bool"}), frozenset({"string"})
_NAMES = {
    "object": "map",
    "array": "list",
    "string": "string",
    "integer": "int",
    "number": "double",
    "boolean": "bool",
}
_FORMATS = {
    "date-time": "google.protobuf.Timestamp",
    "date": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}
_LETTER_BYTES = 4  # at most, of one that maxLength counts
_BYTES_MIN = {"object": 2, "array": 2, "string": 2, "boolean": 4, "integer": 1, "number": 1}
_FORMAT_BYTES_MIN = {"duration": 3, "date": 12, "date-time": 21}
_TIME_BYTES = 32
_ABSENT: Any = object()


class ValidationRule(NamedTuple):
    """One rule. `program` is None where it cannot be compiled, and `wrong` says why: such a rule never holds."""

    text: str
    program: Program | None
    message: str
    message_program: Program | None
    reason: str
    field_path: str
    optional_old: bool
    wrong: str

    @property
    def looks_back(self) -> bool:
        return self.program is not None and "oldSelf" in self.program.uses


class SchemaStatic(StaticType):
    """What a schema says of a value that is not there yet."""

    __slots__ = ("_node",)

    def __init__(self, node: SchemaNode) -> None:
        super().__init__(_type_name(node))
        self._node = node

    def field(self, name: str) -> StaticType | None:
        node = self._node
        found = node.properties.get(name)
        if found is not None:
            return SchemaStatic(found)
        if node.values is not None:
            return SchemaStatic(node.values)
        if name in ("apiVersion", "kind"):
            return STRING
        if name == "metadata" or node.preserve or node.open or "object" not in node.types:
            return DYN
        return None

    @property
    def is_map(self) -> bool:
        return self._node.values is not None

    @property
    def size_max(self) -> int:
        return _size_max(self._node, self.name)

    @property
    def bytes_min(self) -> int:
        """How much of a request a value of it takes at least."""
        return _bytes_min(self._node)

    def element(self) -> StaticType:
        below = self._node.items if self._node.items is not None else self._node.values
        return SchemaStatic(below) if below is not None else DYN


def _type_name(node: SchemaNode) -> str:
    if len(node.types) != 1 or node.nullable or node.int_or_string:
        return "dyn"
    if node.types[0] == "string" and node.format in _FORMATS:
        return _FORMATS[node.format]
    return _NAMES.get(node.types[0], "dyn")


def _size_max(node: SchemaNode, name: str) -> int:
    if name == "list":
        of_items = _bytes_min(node.items) if node.items is not None else 0
        return node.max_items if node.max_items is not None else UNKNOWN_SIZE // (of_items + 1)
    if name == "map":
        if node.values is None:
            return 0
        most = node.max_properties
        return most if most is not None else UNKNOWN_SIZE // (_bytes_min(node.values) + 6)
    if name == "string":
        if node.max_length is not None:
            return node.max_length * _LETTER_BYTES
        return max(len(str(each).encode()) for each in node.enum) if node.enum else UNKNOWN_SIZE
    return UNKNOWN_SIZE if name == "dyn" else _TIME_BYTES if name in _FORMATS.values() else 0


def _bytes_min(node: SchemaNode) -> int:
    """As JSON; of an object, with what is required and has no default."""
    if node.properties:
        required = [(name, node.properties[name]) for name in node.required if name in node.properties]
        return 2 + sum(len(name) + 4 + _bytes_min(each) for name, each in required if not each.has_default)
    if node.types == ("string",) and node.format in _FORMAT_BYTES_MIN:
        return _FORMAT_BYTES_MIN[node.format]
    return _BYTES_MIN.get(node.types[0], 1) if len(node.types) == 1 else 1


def scope_of(node: SchemaNode, optional_old: bool) -> dict[str, StaticType]:
    """What a rule of this schema may refer to."""
    own = SchemaStatic(node)
    return {"self": own, "oldSelf": OPTIONAL if optional_old else own}


def rules_of(schema: Json, node: SchemaNode) -> tuple[ValidationRule, ...]:
    """Those of one schema, whose node knows already what is below it."""
    given = schema.get("x-kubernetes-validations")
    return tuple(_rule(each, node) for each in given) if isinstance(given, list) else ()


def _text(given: Any, name: str) -> str:
    """The tables do not look at schemas below additionalProperties: anything may stand there."""
    found = given.get(name) if isinstance(given, dict) else None
    return found if isinstance(found, str) else ""


def _rule(given: Any, node: SchemaNode) -> ValidationRule:
    text, optional = _text(given, "rule"), isinstance(given, dict) and bool(given.get("optionalOldSelf"))
    scope = scope_of(node, optional)
    program = told = None
    wrong = ""
    try:
        program = compile_expression(text, scope, _BOOL)
    except ExpressionError as error:
        wrong = f"compilation failed: {error}"
    if _text(given, "messageExpression"):
        try:
            told = compile_expression(_text(given, "messageExpression"), scope, _STRING)
        except ExpressionError as error:
            wrong = wrong or f"messageExpression compilation failed: {error}"
    return ValidationRule(
        text=text.strip(),
        program=program,
        message=_text(given, "message").strip(),
        message_program=told,
        reason=_text(given, "reason") or _REASONS[0],
        field_path=_text(given, "fieldPath"),
        optional_old=optional,
        wrong=wrong,
    )


def needs_conversion(node: SchemaNode) -> bool:
    """Whether expressions see a value of this node otherwise than JSON has it."""
    if node.list_type in ("set", "map") or _type_name(node) == "double" or node.format in _FORMATS:
        return True
    below = (*node.properties.values(), node.values, node.items)
    return any(each is not None and each.converts for each in below)


def _seen(value: Any, node: SchemaNode) -> Any:
    """The value as expressions see it."""
    if not node.converts or value is None:
        return value
    if type(value) is dict:
        return {
            name: _seen(each, below) if (below := _below(node, name)) else each
            for name, each in value.items()
        }
    if type(value) is list:
        items = [_seen(each, node.items) for each in value] if node.items is not None else value
        if node.list_type == "set":
            return SetList(items)
        return KeyedList(items, node.list_keys) if node.list_type == "map" else items
    name = _type_name(node)
    try:
        if name == "google.protobuf.Timestamp" and type(value) is str:
            return timestamp_of(value if node.format == "date-time" else f"{value}T00:00:00Z")
        if name == "google.protobuf.Duration" and type(value) is str:
            return Duration(parse_duration(value))
    except ValueError:
        return value
    return float(value) if name == "double" and type(value) is int else value


def _below(node: SchemaNode, name: str) -> SchemaNode | None:
    return node.properties.get(name) or node.values


# A definition that is written


def check_rules(schema: Json, node: SchemaNode, path: str, problems: Problems) -> None:
    """What is wrong with the rules of a schema and of all below it; `node` is what was made of it."""
    _check(schema, node, path, problems, correlates=True)
    _check_places(schema, path, problems, evaluated=True)


def _check_places(schema: Json, path: str, problems: Problems, *, evaluated: bool) -> None:
    if schema.get("x-kubernetes-validations") and not evaluated:
        text = "rules are not evaluated within allOf, anyOf, oneOf and not: move them to the schema around it"
        problems.forbidden(f"{path}.x-kubernetes-validations", text)
    for where, each in list_subschemas(schema):
        within = evaluated and not where.startswith((".allOf", ".anyOf", ".oneOf", ".not"))
        _check_places(each, path + where, problems, evaluated=within)


def _check(schema: Json, node: SchemaNode, path: str, problems: Problems, *, correlates: bool) -> None:
    if not node.rules_below:
        return
    given = schema.get("x-kubernetes-validations") or []
    if len(given) > RULES_MAX:
        problems.too_many(f"{path}.x-kubernetes-validations", len(given), RULES_MAX)
    for index, (each, rule) in enumerate(zip(given, node.rules, strict=True)):
        _check_one(each, rule, f"{path}.x-kubernetes-validations[{index}]", problems, correlates)
    for name, below in node.properties.items():
        _check(
            schema["properties"][name], below, f"{path}.properties[{name}]", problems, correlates=correlates
        )
    if node.values is not None:
        inner = f"{path}.additionalProperties"
        _check(schema["additionalProperties"], node.values, inner, problems, correlates=correlates)
    if node.items is not None:
        kept = correlates and node.list_type == "map"
        _check(schema["items"], node.items, f"{path}.items", problems, correlates=kept)


def _check_one(given: Json, rule: ValidationRule, path: str, problems: Problems, correlates: bool) -> None:
    if not rule.text:
        problems.required(f"{path}.rule")
        return
    if rule.wrong:
        field = "messageExpression" if rule.wrong.startswith("messageExpression") else "rule"
        problems.invalid(f"{path}.{field}", _text(given, field), rule.wrong)
    if "\n" in rule.message:
        problems.invalid(f"{path}.message", rule.message, "message must not contain line breaks")
    if "\n" in rule.text and not rule.message:
        problems.required(f"{path}.message", "message must be specified if rule contains line breaks")
    if rule.reason not in _REASONS:
        problems.unsupported(f"{path}.reason", rule.reason, _REASONS)
    if rule.field_path and not rule.field_path.startswith("."):
        problems.invalid(f"{path}.fieldPath", rule.field_path, "must be like .spec.replicas")
    if rule.looks_back and not correlates:
        text = (
            "oldSelf cannot be used on the uncorrelatable portion of the schema: items are told apart only in lists "
            "with x-kubernetes-list-type=map"
        )
        problems.invalid(f"{path}.rule", rule.text, text)
    if rule.optional_old and rule.program is not None and not rule.looks_back:
        problems.invalid(
            f"{path}.optionalOldSelf", True, "optionalOldSelf may not be set if oldSelf is not used in rule"
        )


# An object that is written


def judge_rules(new: Json, old: Json | None, node: SchemaNode, problems: Problems) -> None:
    """Raises nothing: what does not hold is told. All rules together may cost what one request may."""
    if node.rules_below:
        _Judging(problems).value(new, _ABSENT if old is None else old, node, "")


class _Judging:
    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._budget = Budget()

    def value(self, value: Any, old: Any, node: SchemaNode, path: str) -> None:
        if not node.rules_below or value is None:
            return
        if node.rules:
            unchanged = old is not _ABSENT and same(value, old)
            seen = _seen(value, node)
            before = _seen(old, node) if old is not _ABSENT else _ABSENT
            for rule in node.rules:
                self._rule(rule, seen, before, path, unchanged)
        for inner, each, was, below in _children(value, old, node, path):
            self.value(each, was, below, inner)

    def _rule(self, rule: ValidationRule, seen: Any, before: Any, path: str, unchanged: bool) -> None:
        if rule.looks_back:
            if before is _ABSENT and not rule.optional_old:
                return
        elif unchanged:
            return
        names: dict[str, Any] = {"self": seen}
        if rule.optional_old:
            names["oldSelf"] = NONE if before is _ABSENT else OptionalValue(before, True)
        elif before is not _ABSENT:
            names["oldSelf"] = before
        if rule.program is None:
            self._tell(rule, seen, path, rule.wrong)
            return
        try:
            if rule.program.run(names, self._budget) is not True:
                self._tell(rule, seen, path, self._message(rule, names))
        except EvaluationError as error:
            self._tell(rule, seen, path, f"{error} evaluating rule: {rule.message or rule.text}")

    def _message(self, rule: ValidationRule, names: dict[str, Any]) -> str:
        if rule.message_program is not None:
            try:
                told = rule.message_program.run(names, self._budget)
            except EvaluationError:
                told = ""
            if isinstance(told, str) and told.strip() and "\n" not in told:
                return told.strip()
        return rule.message or f"failed rule: {rule.text}"

    def _tell(self, rule: ValidationRule, seen: Any, path: str, message: str) -> None:
        field = f"{path}{rule.field_path}".removeprefix(".") if rule.field_path else path
        shown = "object" if type(seen) is dict else "array" if isinstance(seen, list) else seen
        if not isinstance(shown, str | int | float | bool):
            shown = str(shown)
        if rule.reason == "FieldValueForbidden":
            self._problems.forbidden(field, message)
        elif rule.reason == "FieldValueRequired":
            self._problems.required(field, message)
        elif rule.reason == "FieldValueDuplicate":
            self._problems.duplicate(field, shown, message)
        else:
            self._problems.invalid(field, shown, message)


def _children(
    value: Any, old: Any, node: SchemaNode, path: str
) -> Iterator[tuple[str, Any, Any, SchemaNode]]:
    """What is below a value: its path, it, what it was, and its schema."""
    if type(value) is dict:
        prefix = f"{path}." if path else ""
        for name, each in value.items():
            below = _below(node, name)
            if below is not None and below.rules_below:
                was = old.get(name, _ABSENT) if type(old) is dict else _ABSENT
                yield f"{prefix}{name}", each, was, below
    elif type(value) is list and node.items is not None and node.items.rules_below:
        known: dict[tuple[Any, ...], Any] = {}
        if node.list_type == "map" and type(old) is list:
            known = {_key(each, node): each for each in old if type(each) is dict}
        for index, each in enumerate(value):
            was = known.get(_key(each, node), _ABSENT) if type(each) is dict else _ABSENT
            yield f"{path}[{index}]", each, was, node.items


def _key(item: Json, node: SchemaNode) -> tuple[Any, ...]:
    return tuple(item.get(name) for name in node.list_keys)

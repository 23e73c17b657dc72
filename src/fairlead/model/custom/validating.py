"""Values judged by a schema, every problem at once, in the words that Kubernetes' API server has for them.

Called through `Kind.validate` of custom kinds, and by `structural.py` for defaults. `judge` looks at what a schema says
of one object; `judge_lists` at lists that are sets or maps. What it may cost is bounded by VALIDATION_STEPS_MAX.
"""

from __future__ import annotations

from typing import Any

from fairlead.core import codec
from fairlead.core.problems import Problems
from fairlead.model.custom.formats import FORMATS
from fairlead.model.custom.patterns import Spend
from fairlead.model.custom.schema import SchemaNode

#: bound: objects | steps of judging one custom object | 422
VALIDATION_STEPS_MAX = 1_000_000
_CHEAP_PER_STEP = 8  # characters of a text, or values it is compared with, that count as one step
_INTEGERS = {"int32": 2**31, "int64": 2**63}
_TYPES: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}


class TooCostlyError(Exception):
    """Judging the object takes more steps than one request may."""


def judge(value: Any, node: SchemaNode, problems: Problems, walk: Walk | None = None) -> None:
    """`walk`: where several values may cost no more than one."""
    if walk is None:
        walk = Walk()
    try:
        walk.value(value, node, "", problems)
    except TooCostlyError:
        text = (
            f"the object is too large for its schema: judging it takes more than {VALIDATION_STEPS_MAX} steps"
        )
        problems.invalid("", "", text)


def number_text(value: float) -> str:
    """As Go prints a float64."""
    return str(int(value)) if value == int(value) and abs(value) < 1e21 else f"{value:g}"


class Walk:
    """Judging, and what it has cost so far."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps = 0

    def spend(self, steps: int) -> None:
        self.steps += steps
        if self.steps > VALIDATION_STEPS_MAX:
            raise TooCostlyError

    def value(self, value: Any, node: SchemaNode, path: str, problems: Problems) -> None:
        self.spend(1)
        kind = type(value)
        if value is None and node.nullable:
            return
        if node.types and not _of_type(value, node):
            problems.type_invalid(
                path, _TYPES[kind], f'{path} in body must be of type {",".join(node.types)}: "{_TYPES[kind]}"'
            )
        if value is not None and (node.all_of or node.any_of or node.one_of or node.negated is not None):
            self._combined(value, node, path, problems)
        if kind is str:
            self.spend(len(value) // _CHEAP_PER_STEP)
            _string(value, node, path, problems, self.spend)
        elif kind is int or kind is float:
            _number(value, node, path, problems)
        if node.enum is not None:
            self.spend(len(node.enum) // _CHEAP_PER_STEP)
            if not any(same(value, each) for each in node.enum):
                self.spend(len(node.enum))  # all of them are named
                shown = [each if isinstance(each, str) else codec.encode(each).decode() for each in node.enum]
                problems.unsupported(path, value, shown)
        if kind is list:
            self._list(value, node, path, problems)
        elif kind is dict:
            self._object(value, node, path, problems)

    def _list(self, value: list[Any], node: SchemaNode, path: str, problems: Problems) -> None:
        if node.items is not None:
            for index, item in enumerate(value):
                self.value(item, node.items, f"{path}[{index}]", problems)
        if node.min_items is not None and len(value) < node.min_items:
            problems.invalid(path, len(value), f"{path} in body should have at least {node.min_items} items")
        if node.max_items is not None and len(value) > node.max_items:
            problems.too_many(path, len(value), node.max_items)

    def _object(self, value: dict[str, Any], node: SchemaNode, path: str, problems: Problems) -> None:
        size = len(value)
        if node.min_properties is not None and size < node.min_properties:
            problems.invalid(
                path, size, f"{path} in body should have at least {node.min_properties} properties"
            )
        if node.max_properties is not None and size > node.max_properties:
            problems.too_many(path, size, node.max_properties)
        prefix = f"{path}." if path else ""
        for name in node.required:
            if name not in value:
                problems.required(prefix + name)
        for key, item in value.items():
            below = node.properties.get(key) or node.values
            if below is not None:
                self.value(item, below, prefix + key, problems)

    def _combined(self, value: Any, node: SchemaNode, path: str, problems: Problems) -> None:
        """Alternatives. Those that come closest say what is missing, as in Kubernetes."""
        if node.any_of:
            valid, best = self._try(value, node.any_of, path)
            if not valid:
                problems.invalid("<nil>", "", f'"{path}" must validate at least one schema (anyOf)')
                problems.extend(best.causes)
        if node.one_of:
            valid, best = self._try(value, node.one_of, path)
            if valid != 1:
                found = f"Found {valid} valid alternatives" if valid else "Found none valid"
                text = f'"{path}" must validate one and only one schema (oneOf). {found}'
                problems.invalid("<nil>", "", text)
                if not valid:
                    problems.extend(best.causes)
        if node.all_of:
            valid = 0
            for each in node.all_of:
                found_here = Problems()
                self.value(value, each, path, found_here)
                problems.extend(found_here.causes)
                valid += not found_here
            if valid != len(node.all_of):
                none = "" if valid else ". None validated"
                problems.invalid("<nil>", "", f'"{path}" must validate all the schemas (allOf){none}')
        if node.negated is not None:
            inner = Problems()
            self.value(value, node.negated, path, inner)
            if not inner:
                problems.invalid("<nil>", "", f'"{path}" must not validate the schema (not)')

    def _try(self, value: Any, nodes: tuple[SchemaNode, ...], path: str) -> tuple[int, Problems]:
        valid, best, most = 0, Problems(), -1
        for each in nodes:
            found, before = Problems(), self.steps
            self.value(value, each, path, found)
            if not found:
                valid += 1
            elif self.steps - before > most:
                best, most = found, self.steps - before
        return valid, best


def _of_type(value: Any, node: SchemaNode) -> bool:
    kind = _TYPES[type(value)]
    if kind in node.types:
        return True
    if kind == "integer":
        return "number" in node.types
    return kind == "number" and "integer" in node.types and value == int(value)


def _string(value: str, node: SchemaNode, path: str, problems: Problems, spend: Spend) -> None:
    if node.max_length is not None and len(value) > node.max_length:
        problems.too_long(path, node.max_length)
    if node.min_length is not None and len(value) < node.min_length:
        problems.invalid(path, value, f"{path} in body should be at least {node.min_length} chars long")
    if node.pattern is not None and not node.pattern.matches(value, spend):
        problems.invalid(path, value, f"{path} in body should match '{node.pattern.text}'")
    fits = FORMATS.get(node.format) if node.format else None
    if fits is not None and not fits(value):
        problems.type_invalid(path, value, f'{path} in body must be of type {node.format}: "{value[:200]}"')


def _number(value: float, node: SchemaNode, path: str, problems: Problems) -> None:
    limit = _INTEGERS.get(node.format) if node.format else None
    if limit is None and type(value) is int and "integer" in node.types:
        limit = _INTEGERS["int64"]
    if limit is not None and not -limit <= value < limit:
        text = f"Checked value must be of type integer with format {node.format or 'int64'}"
        problems.invalid(path, value, text)
    if node.multiple_of is not None and not _divides(value, node.multiple_of):
        problems.invalid(
            path, value, f"{path} in body should be a multiple of {number_text(node.multiple_of)}"
        )
    high, low = node.maximum, node.minimum
    if high is not None and (value > high or (node.exclusive_maximum and value == high)):
        word = "less than" if node.exclusive_maximum else "less than or equal to"
        problems.invalid(path, value, f"{path} in body should be {word} {number_text(high)}")
    if low is not None and (value < low or (node.exclusive_minimum and value == low)):
        word = "greater than" if node.exclusive_minimum else "greater than or equal to"
        problems.invalid(path, value, f"{path} in body should be {word} {number_text(low)}")


def _divides(value: float, divisor: float) -> bool:
    if isinstance(value, int) and divisor == int(divisor):
        return value % int(divisor) == 0
    try:
        quotient = value / divisor
        return abs(quotient - round(quotient)) < 1e-9
    except OverflowError:  # nobody can tell
        return False


def same(one: Any, other: Any) -> bool:
    """Equal as JSON values: true is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def judge_lists(value: Any, node: SchemaNode, path: str, problems: Problems) -> None:
    """In lists that are sets or maps nothing may be there twice."""
    if type(value) is list and node.items is not None:
        if node.list_type in ("set", "map"):
            seen: set[bytes] = set()
            for index, item in enumerate(value):
                shown = item
                if node.list_type == "map" and isinstance(item, dict):
                    shown = {key: item.get(key) for key in node.list_keys}
                mark = _mark(shown)
                if mark in seen:
                    problems.duplicate(f"{path}[{index}]", shown)
                seen.add(mark)
        for index, item in enumerate(value):
            judge_lists(item, node.items, f"{path}[{index}]", problems)
    elif type(value) is dict and (node.properties or node.values is not None):
        prefix = f"{path}." if path else ""
        for key, item in value.items():
            below = node.properties.get(key) or node.values
            if below is not None and type(item) in (dict, list):
                judge_lists(item, below, prefix + key, problems)


def _mark(value: Any) -> bytes:
    """The same bytes for values that are the same, whatever the order of their keys."""
    if isinstance(value, dict):
        return b"{" + b",".join(codec.encode(key) + b":" + _mark(value[key]) for key in sorted(value)) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(_mark(each) for each in value) + b"]"
    if isinstance(value, float) and value == int(value):
        value = int(value)
    return codec.encode(value)

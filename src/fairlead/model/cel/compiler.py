"""Trees to functions: each node becomes one, which is asked with a Frame. Called by `program.py`.

Everything costs: a step a node, and in loops, texts and lists as many as there are elements. What is spent is compared
with what may be in every turn of a loop and in every function whose work grows with its arguments; between two such
looks lies no more than one walk through the tree, which the length of the text bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.model.cel import syntax
from fairlead.model.cel.access import at, has_field, put, required_optional, select
from fairlead.model.cel.errors import CostExceeded, EvaluationError
from fairlead.model.cel.library.functions import FUNCTIONS, METHODS, TYPES, Function
from fairlead.model.cel.loops import LOOPS, LoopStep
from fairlead.model.cel.operators import BINARY, negative
from fairlead.model.cel.values import NONE, MadeObject, OptionalValue, no_overload

_LIST_COST, _MAP_COST, _STRUCT_COST = 10, 30, 40


class Frame:
    """One evaluation: what the names mean, what was spent, and what may be."""

    __slots__ = ("limit", "names", "spent")

    def __init__(self, names: dict[str, Any], limit: int) -> None:
        self.names = names
        self.spent = 0
        self.limit = limit

    def spend(self, cost: int) -> None:
        self.spent += cost
        if self.spent > self.limit:
            raise CostExceeded


Run = Callable[[Frame], Any]


def compiled(node: syntax.SyntaxNode) -> Run:
    return _MAKERS[type(node)](node)


def _literal(node: syntax.Literal) -> Run:
    value = node.value
    return lambda frame: value


def _ident(node: syntax.Ident) -> Run:
    name = node.name
    if name in TYPES:
        meant = TYPES[name]
        return lambda frame: frame.names.get(name, meant)

    def run(frame: Frame) -> Any:
        frame.spent += 1
        return frame.names[name]

    return run


def _select(node: syntax.Select) -> Run:
    operand, field = compiled(node.operand), node.field
    if node.optional:

        def optional(frame: Frame) -> Any:
            frame.spent += 1
            value = operand(frame)
            if isinstance(value, OptionalValue):
                if not value.present:
                    return NONE
                value = value.value
            return OptionalValue(select(value, field, frame.spend), True) if has_field(value, field) else NONE

        return optional

    def run(frame: Frame) -> Any:
        frame.spent += 1
        value = operand(frame)
        if type(value) is dict and field in value:
            return value[field]
        return select(value, field, frame.spend)

    return run


def _has_node(node: syntax.Has) -> Run:
    operand, field = compiled(node.operand), node.field

    def run(frame: Frame) -> bool:
        frame.spent += 1
        return has_field(operand(frame), field)

    return run


def _index(node: syntax.IndexAccess) -> Run:
    operand, index, optional = compiled(node.operand), compiled(node.index), node.optional

    def run(frame: Frame) -> Any:
        frame.spent += 1
        value, where = operand(frame), index(frame)
        if isinstance(value, OptionalValue):
            return at(value.value, where) if value.present else NONE
        found = at(value, where)
        if optional:
            return found
        if found.present:
            return found.value
        raise EvaluationError(
            f"no such key: {where}" if type(value) is dict else f"index out of bounds: {where}"
        )

    return run


def _call(node: syntax.FunctionCall) -> Run:
    _, found, arguments = resolved(node)
    assert found is not None  # the checker has looked
    runs = tuple(compiled(each) for each in arguments)
    call = found.call
    if len(runs) == 1:
        only = runs[0]

        def one(frame: Frame) -> Any:
            frame.spent += 1
            return call(frame.spend, only(frame))

        return one

    def run(frame: Frame) -> Any:
        frame.spent += 1
        return call(frame.spend, *[each(frame) for each in runs])

    return run


def resolved(node: syntax.FunctionCall) -> tuple[str, Function | None, tuple[syntax.SyntaxNode, ...]]:
    """Which function is meant, and with which arguments: `sets.contains(a, b)` looks like a method of `sets`."""
    if node.target is None:
        return node.name, FUNCTIONS.get((node.name, len(node.arguments))), node.arguments
    if isinstance(node.target, syntax.Ident):
        name = f"{node.target.name}.{node.name}"
        found = FUNCTIONS.get((name, len(node.arguments)))
        if found is not None:
            return name, found, node.arguments
    elif isinstance(node.target, syntax.Select) and isinstance(node.target.operand, syntax.Ident):
        name = f"{node.target.operand.name}.{node.target.field}.{node.name}"
        found = FUNCTIONS.get((name, len(node.arguments)))
        if found is not None:
            return name, found, node.arguments
    method = METHODS.get((node.name, len(node.arguments)))
    return node.name, method, (node.target, *node.arguments)


def _list(node: syntax.ListLiteral) -> Run:
    items, optional = tuple(compiled(each) for each in node.items), node.optional

    def plain(frame: Frame) -> list[Any]:
        frame.spent += _LIST_COST
        return [each(frame) for each in items]

    def sparse(frame: Frame) -> list[Any]:
        found: list[Any] = []
        for place, value in enumerate(plain(frame)):
            if place not in optional:
                found.append(value)
            elif required_optional(value).present:
                found.append(value.value)
        return found

    return sparse if optional else plain


def _map(node: syntax.MapLiteral) -> Run:
    entries = tuple((compiled(each.key), compiled(each.value), each.optional) for each in node.entries)

    def run(frame: Frame) -> dict[Any, Any]:
        frame.spent += _MAP_COST
        found: dict[Any, Any] = {}
        for key_of, value_of, optional in entries:
            key, value = key_of(frame), value_of(frame)
            if optional:
                if not required_optional(value).present:
                    continue
                value = value.value
            put(found, key, value)
        return found

    return run


def _struct(node: syntax.Struct) -> Run:
    name = node.name
    fields = tuple((each.name, compiled(each.value), each.optional) for each in node.fields)

    def run(frame: Frame) -> MadeObject:
        frame.spent += _STRUCT_COST
        found: dict[str, Any] = {}
        for field, value_of, optional in fields:
            value = value_of(frame)
            if optional:
                if not required_optional(value).present:
                    continue
                value = value.value
            found[field] = value
        return MadeObject(name, found)

    return run


def _decides(parts: tuple[Run, ...], decisive: bool, name: str) -> Run:
    """`||` and `&&`: one decisive part is enough, whatever is wrong with the others."""

    def run(frame: Frame) -> bool:
        wrong: EvaluationError | None = None
        for part in parts:
            frame.spent += 1
            try:
                value = part(frame)
            except EvaluationError as error:
                wrong = wrong or error
                continue
            if value is decisive:
                return bool(value)
            if value is not (not decisive):
                wrong = wrong or no_overload(name, value)
        if wrong is not None:
            raise wrong
        return not decisive

    return run


def _any_of(node: syntax.AnyOf) -> Run:
    return _decides(tuple(compiled(each) for each in node.parts), True, "_||_")


def _all_of(node: syntax.AllOf) -> Run:
    return _decides(tuple(compiled(each) for each in node.parts), False, "_&&_")


def _conditional(node: syntax.Conditional) -> Run:
    test, then, otherwise = compiled(node.test), compiled(node.then), compiled(node.otherwise)

    def run(frame: Frame) -> Any:
        frame.spent += 1
        value = test(frame)
        if value is True:
            return then(frame)
        if value is False:
            return otherwise(frame)
        raise no_overload("_?_:_", value)

    return run


def _unary(node: syntax.Unary) -> Run:
    operand = compiled(node.operand)
    if node.operator == "-":
        return lambda frame: negative(operand(frame))

    def run(frame: Frame) -> bool:
        frame.spent += 1
        value = operand(frame)
        if value is True or value is False:
            return not value
        raise no_overload("!_", value)

    return run


def _binary(node: syntax.Binary) -> Run:
    left, right, operate = compiled(node.left), compiled(node.right), BINARY[node.operator]

    def run(frame: Frame) -> Any:
        frame.spent += 1
        return operate(left(frame), right(frame), frame.spend)

    return run


def _loop(node: syntax.Loop) -> Run:
    target, body = compiled(node.target), compiled(node.body)
    keep = compiled(node.filter) if node.filter is not None else None
    names, combine = node.variables, LOOPS[node.macro]

    def run(frame: Frame) -> Any:
        frame.spent += 1
        over = target(frame)
        meant = frame.names
        frame.names = inner = dict(meant)

        def step(values: tuple[Any, ...], asked: Run) -> Any:
            for name, value in zip(names, values, strict=True):
                inner[name] = value
            frame.spend(1)
            return asked(frame)

        try:
            return combine(over, len(names), LoopStep(step, body, keep), frame.spend)
        finally:
            frame.names = meant

    return run


def _bind(node: syntax.LocalName) -> Run:
    name, value_of, body = node.name, compiled(node.value), compiled(node.body)

    def run(frame: Frame) -> Any:
        value = value_of(frame)
        return _with(frame, name, value, body)

    return run


def _with(frame: Frame, name: str, value: Any, body: Run) -> Any:
    meant = frame.names
    frame.names = {**meant, name: value}
    try:
        return body(frame)
    finally:
        frame.names = meant


def _optional_map(node: syntax.OptionalMap) -> Run:
    target, body, name, flat = compiled(node.target), compiled(node.body), node.name, node.flat

    def run(frame: Frame) -> Any:
        frame.spent += 1
        value = target(frame)
        if not isinstance(value, OptionalValue):
            raise no_overload("optFlatMap" if flat else "optMap", value)
        if not value.present:
            return NONE
        made = _with(frame, name, value.value, body)
        return required_optional(made) if flat else OptionalValue(made, True)

    return run


_MAKERS: Mapping[type[syntax.SyntaxNode], Callable[[Any], Run]] = {
    syntax.Literal: _literal,
    syntax.Ident: _ident,
    syntax.Select: _select,
    syntax.Has: _has_node,
    syntax.IndexAccess: _index,
    syntax.FunctionCall: _call,
    syntax.ListLiteral: _list,
    syntax.MapLiteral: _map,
    syntax.Struct: _struct,
    syntax.AnyOf: _any_of,
    syntax.AllOf: _all_of,
    syntax.Conditional: _conditional,
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Loop: _loop,
    syntax.LocalName: _bind,
    syntax.OptionalMap: _optional_map,
}

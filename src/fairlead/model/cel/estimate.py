"""What an expression may cost at most, found without an object: from the bounds that a schema gives to its values.

Kubernetes refuses rules of a custom kind that may become too dear (`model/custom/rule_costs.py`), by an estimate that
people know from there: in its steps, with its prices. So this is no measure of what our own interpreter needs, which is
counted while it runs (`program.py`). Pure; an expression was checked before (`checker.py`).

    a name, a field, a call                 1
    a list, a map, an object that is made   10, 30, 40
    walking through a text                  a tenth of its length
    a pattern                               a quarter of its length, times a tenth of the text's
    a loop                                  what a turn costs, times the greatest number of elements
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, NamedTuple

from fairlead.model.cel import syntax
from fairlead.model.cel.compiler import resolved
from fairlead.model.cel.static import DYN, INT, STRING, UNKNOWN_SIZE, StaticType
from fairlead.model.cel.values import type_name

_LIST_COST, _MAP_COST, _STRUCT_COST = 10, 30, 40
_NUMBER_LENGTH = 32  # of a number, a time or a truth as text
_TEXTS = frozenset({"string", "bytes"})
_SIZED = _TEXTS | {"list", "map", "dyn"}
# By macro: what a turn costs beside its body, what it costs to begin and to end.
_TURNS = {
    "all": (3, 1),
    "exists": (4, 1),
    "existsOne": (2, 2),
    "filter": (13, 1),
    "map": (12, 1),
    "transformMap": (33, 1),
    "transformMapEntry": (33, 1),
}
_PATTERNS = frozenset({"matches", "find", "findAll"})
# What walks through its first argument, text by text and element by element.
_WALKS = frozenset({
    "charAt", "indexOf", "lastIndexOf", "substring", "lowerAscii", "upperAscii", "trim", "format", "strings.quote",
    "base64.encode", "base64.decode", "jsonpatch.escapeKey", "quantity",
    "isQuantity", "semver", "isSemver", "ip", "isIP", "cidr", "isCIDR", "url", "isURL", "ip.isCanonical", "validate",
    "isSorted", "sum", "min", "max", "string", "bytes", "timestamp", "duration", "containsIP", "containsCIDR",
})  # fmt: skip
_PAIRS = frozenset({"sets.contains", "sets.equivalent", "sets.intersects"})
_KEEPS_SIZE = frozenset({
    "split", "substring", "lowerAscii", "upperAscii", "trim", "findAll", "find", "charAt", "bytes", "base64.decode",
    "dyn", "orValue", "value", "or", "optional.of", "optional.ofNonZeroValue",
})  # fmt: skip


class Estimate(NamedTuple):
    """The greatest cost, and what is known of the value: its type, and how many elements or bytes it has at most."""

    cost: int
    type: StaticType
    size: int = 1


Scope = Mapping[str, Estimate]


def estimate_cost(tree: syntax.SyntaxNode, names: Mapping[str, StaticType]) -> int:
    """With these types of what it may refer to."""
    return _of(tree, {name: Estimate(0, each, each.size_max) for name, each in names.items()}).cost


def _of(node: syntax.SyntaxNode, scope: Scope) -> Estimate:
    return _RULES[type(node)](node, scope)


def _value(cost: int, found: StaticType) -> Estimate:
    return Estimate(cost, found, found.size_max)


def _walk(size: int) -> int:
    """A tenth for each."""
    return ceil(size / 10)


def _literal(node: syntax.Literal, scope: Scope) -> Estimate:
    value = node.value
    size = len(value.encode()) if isinstance(value, str) else len(value) if isinstance(value, bytes) else 1
    return Estimate(0, StaticType(type_name(value)), size)


def _ident(node: syntax.Ident, scope: Scope) -> Estimate:
    known = scope.get(node.name)
    return Estimate(1, known.type, known.size) if known is not None else Estimate(1, DYN)


def _select(node: syntax.Select, scope: Scope) -> Estimate:
    operand = _of(node.operand, scope)
    found = operand.type.field(node.field) or DYN
    # Kubernetes knows no bound of what is selected from a map.
    return Estimate(operand.cost + 1, found, UNKNOWN_SIZE if operand.type.is_map else found.size_max)


def _has(node: syntax.Has, scope: Scope) -> Estimate:
    return Estimate(_of(node.operand, scope).cost + 1, StaticType("bool"))


def _index(node: syntax.IndexAccess, scope: Scope) -> Estimate:
    operand, index = _of(node.operand, scope), _of(node.index, scope)
    return _value(operand.cost + index.cost + 1, operand.type.element())


def _call(node: syntax.FunctionCall, scope: Scope) -> Estimate:
    name, found, arguments = resolved(node)
    given = [_of(each, scope) for each in arguments]
    cost = sum(each.cost for each in given)
    first = given[0] if given else Estimate(0, DYN)
    if name in _PATTERNS:
        cost += _walk(first.size + 1) * ceil(given[1].size / 4)
    elif name == "contains":
        cost += _walk(first.size) * _walk(given[1].size)
    elif name in ("startsWith", "endsWith"):
        cost += _walk(given[1].size)
    elif name in _PAIRS:
        cost += first.size * given[1].size
    elif name in ("join", "replace"):
        cost += _walk(_size_of(name, given, STRING))
    elif name == "split":
        cost += 2 * _walk(first.size)
    elif name in _WALKS:
        of_list = first.type.name == "list"
        cost += first.size * (_walk(first.type.element().size_max) + 1) if of_list else _walk(first.size)
    else:
        cost += 1
    returns = StaticType(found.returns) if found is not None and found.returns != "dyn" else DYN
    return Estimate(cost, _type_of(name, first, returns), _size_of(name, given, returns))


def _type_of(name: str, first: Estimate, returns: StaticType) -> StaticType:
    return first.type if name in ("dyn", "min", "max") else returns


def _size_of(name: str, given: list[Estimate], returns: StaticType) -> int:
    if name in _KEEPS_SIZE and given:
        return given[0].size
    if name == "string" and given:
        return given[0].size if given[0].type.name in _SIZED else _NUMBER_LENGTH
    if name == "join":
        between = given[1].size if len(given) > 1 else 0
        return given[0].size * (given[0].type.element().size_max + between)
    if name == "replace":
        return given[0].size * max(1, ceil(given[2].size / max(1, given[1].size)))
    if name == "base64.encode" and given:
        return ceil(given[0].size / 3) * 4
    return returns.size_max


def _list(node: syntax.ListLiteral, scope: Scope) -> Estimate:
    items = [_of(each, scope) for each in node.items]
    return Estimate(_LIST_COST + sum(each.cost for each in items), StaticType("list"), len(items))


def _map(node: syntax.MapLiteral, scope: Scope) -> Estimate:
    parts = [_of(each, scope) for entry in node.entries for each in (entry.key, entry.value)]
    return Estimate(_MAP_COST + sum(each.cost for each in parts), StaticType("map"), len(node.entries))


def _struct(node: syntax.Struct, scope: Scope) -> Estimate:
    cost = sum(_of(each.value, scope).cost for each in node.fields)
    return Estimate(_STRUCT_COST + cost, StaticType(node.name), len(node.fields))


def _parts(node: syntax.AnyOf | syntax.AllOf, scope: Scope) -> Estimate:
    return Estimate(sum(_of(each, scope).cost for each in node.parts), StaticType("bool"))


def _conditional(node: syntax.Conditional, scope: Scope) -> Estimate:
    test, then, otherwise = (_of(each, scope) for each in (node.test, node.then, node.otherwise))
    dearer = max(then.cost, otherwise.cost)
    found = then.type if then.type.name == otherwise.type.name else DYN
    return Estimate(test.cost + dearer, found, max(then.size, otherwise.size))


def _unary(node: syntax.Unary, scope: Scope) -> Estimate:
    operand = _of(node.operand, scope)
    return Estimate(operand.cost + 1, operand.type)


def _binary(node: syntax.Binary, scope: Scope) -> Estimate:
    left, right = _of(node.left, scope), _of(node.right, scope)
    cost, operator = left.cost + right.cost, node.operator
    names = {left.type.name, right.type.name}
    if operator == "in":
        return Estimate(cost + (1 if right.type.name == "map" else right.size), StaticType("bool"))
    if operator == "+" and names & _SIZED:
        size = left.size + right.size
        return Estimate(cost + (_walk(size) if names & _TEXTS else 1), left.type, size)
    if operator in ("==", "!=", "<", "<=", ">", ">="):
        return Estimate(cost + _walk(min(left.size, right.size)), StaticType("bool"))
    return Estimate(cost + 1, left.type)


def _loop(node: syntax.Loop, scope: Scope) -> Estimate:
    over = _of(node.target, scope)
    element = over.type.element()
    of_map = over.type.name == "map"
    first = (
        Estimate(0, STRING if of_map else INT)
        if of_map or len(node.variables) == 2
        else Estimate(0, element, element.size_max)
    )
    inner = {**scope, node.variables[0]: first}
    if len(node.variables) == 2:
        inner[node.variables[1]] = Estimate(0, element, element.size_max)
    body = _of(node.body, inner)
    kept = _of(node.filter, inner).cost if node.filter is not None else 0
    turn, around = _TURNS[node.macro]
    cost = over.cost + over.size * (turn + kept + body.cost) + around
    if node.macro == "filter":
        return Estimate(cost, over.type if over.type.name == "list" else StaticType("list"), over.size)
    name = {"map": "list", "transformMap": "map", "transformMapEntry": "map"}.get(node.macro, "bool")
    return Estimate(cost, StaticType(name), over.size if name != "bool" else 1)


def _local_name(node: syntax.LocalName, scope: Scope) -> Estimate:
    value = _of(node.value, scope)
    body = _of(node.body, {**scope, node.name: value})
    return Estimate(value.cost + body.cost, body.type, body.size)


def _optional_map(node: syntax.OptionalMap, scope: Scope) -> Estimate:
    target = _of(node.target, scope)
    body = _of(node.body, {**scope, node.name: Estimate(0, DYN, UNKNOWN_SIZE)})
    return Estimate(target.cost + body.cost + 1, body.type, body.size)


_RULES: Mapping[type[syntax.SyntaxNode], Callable[[Any, Scope], Estimate]] = {
    syntax.Literal: _literal,
    syntax.Ident: _ident,
    syntax.Select: _select,
    syntax.Has: _has,
    syntax.IndexAccess: _index,
    syntax.FunctionCall: _call,
    syntax.ListLiteral: _list,
    syntax.MapLiteral: _map,
    syntax.Struct: _struct,
    syntax.AnyOf: _parts,
    syntax.AllOf: _parts,
    syntax.Conditional: _conditional,
    syntax.Unary: _unary,
    syntax.Binary: _binary,
    syntax.Loop: _loop,
    syntax.LocalName: _local_name,
    syntax.OptionalMap: _optional_map,
}

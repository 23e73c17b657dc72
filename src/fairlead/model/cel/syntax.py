"""The tree of an expression. Made by `parser.py`, judged by `checker.py`, turned into functions by `compiler.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SyntaxNode:
    offset: int


@dataclass(frozen=True, slots=True)
class Literal(SyntaxNode):
    value: Any


@dataclass(frozen=True, slots=True)
class Ident(SyntaxNode):
    name: str


@dataclass(frozen=True, slots=True)
class Select(SyntaxNode):
    """`operand.field`; `optional` for `operand.?field`."""

    operand: SyntaxNode
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Has(SyntaxNode):
    operand: SyntaxNode
    field: str


@dataclass(frozen=True, slots=True)
class IndexAccess(SyntaxNode):
    operand: SyntaxNode
    index: SyntaxNode
    optional: bool = False


@dataclass(frozen=True, slots=True)
class FunctionCall(SyntaxNode):
    """A function, or a method where there is a target. Operators that are no words of their own are not calls."""

    name: str
    target: SyntaxNode | None
    arguments: tuple[SyntaxNode, ...]


@dataclass(frozen=True, slots=True)
class ListLiteral(SyntaxNode):
    items: tuple[SyntaxNode, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class MapEntry:
    key: SyntaxNode
    value: SyntaxNode
    optional: bool


@dataclass(frozen=True, slots=True)
class MapLiteral(SyntaxNode):
    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True)
class FieldOf:
    name: str
    value: SyntaxNode
    optional: bool


@dataclass(frozen=True, slots=True)
class Struct(SyntaxNode):
    """`Object.spec{replicas: 1}`."""

    name: str
    fields: tuple[FieldOf, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(SyntaxNode):
    """`a || b || c`, however many: as one node they take one level."""

    parts: tuple[SyntaxNode, ...]


@dataclass(frozen=True, slots=True)
class AllOf(SyntaxNode):
    parts: tuple[SyntaxNode, ...]


@dataclass(frozen=True, slots=True)
class Conditional(SyntaxNode):
    test: SyntaxNode
    then: SyntaxNode
    otherwise: SyntaxNode


@dataclass(frozen=True, slots=True)
class Unary(SyntaxNode):
    operator: str
    operand: SyntaxNode


@dataclass(frozen=True, slots=True)
class Binary(SyntaxNode):
    operator: str
    left: SyntaxNode
    right: SyntaxNode


@dataclass(frozen=True, slots=True)
class Loop(SyntaxNode):
    """A macro over a list or a map: `all`, `exists`, `existsOne`, `filter`, `map`, and those with two variables."""

    macro: str
    target: SyntaxNode
    variables: tuple[str, ...]
    filter: SyntaxNode | None
    body: SyntaxNode


@dataclass(frozen=True, slots=True)
class LocalName(SyntaxNode):
    """`cel.bind(name, value, body)`."""

    name: str
    value: SyntaxNode
    body: SyntaxNode


@dataclass(frozen=True, slots=True)
class OptionalMap(SyntaxNode):
    """`target.optMap(name, body)`; `flat` for optFlatMap, whose body gives an optional itself."""

    target: SyntaxNode
    name: str
    body: SyntaxNode
    flat: bool


def children(node: SyntaxNode) -> tuple[SyntaxNode, ...]:
    """What is right below a node."""
    match node:
        case Select() | Has() | Unary():
            return (node.operand,)
        case IndexAccess():
            return node.operand, node.index
        case FunctionCall():
            return node.arguments if node.target is None else (node.target, *node.arguments)
        case ListLiteral():
            return node.items
        case MapLiteral():
            return tuple(each for entry in node.entries for each in (entry.key, entry.value))
        case Struct():
            return tuple(each.value for each in node.fields)
        case AnyOf() | AllOf():
            return node.parts
        case Conditional():
            return node.test, node.then, node.otherwise
        case Binary():
            return node.left, node.right
        case Loop():
            return (node.target, node.body) if node.filter is None else (node.target, node.filter, node.body)
        case LocalName():
            return node.value, node.body
        case OptionalMap():
            return node.target, node.body
    return ()


def depth_of(tree: SyntaxNode) -> int:
    """How many nodes are one in another, found without going as deep oneself."""
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((each, depth + 1) for each in children(node))
    return deepest


def names_in(tree: SyntaxNode) -> frozenset[str]:
    """Every name that stands in it."""
    found: set[str] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Ident):
            found.add(node.name)
        waiting.extend(children(node))
    return frozenset(found)

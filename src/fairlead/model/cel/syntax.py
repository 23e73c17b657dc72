"""The tree of an expression. Made by `parser.py`, judged by `checker.py`, turned into functions by `compiler.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    offset: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    value: Any


@dataclass(frozen=True, slots=True)
class Ident(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`operand.field`; `optional` for `operand.?field`."""

    operand: Node
    field: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Has(Node):
    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    operand: Node
    index: Node
    optional: bool = False


@dataclass(frozen=True, slots=True)
class FunctionCall(Node):
    """A function, or a method where there is a target. Operators that are no words of their own are not calls."""

    name: str
    target: Node | None
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    items: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class Entry:
    key: Node
    value: Node
    optional: bool


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class FieldOf:
    name: str
    value: Node
    optional: bool


@dataclass(frozen=True, slots=True)
class Struct(Node):
    """`Object.spec{replicas: 1}`."""

    name: str
    fields: tuple[FieldOf, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Node):
    """`a || b || c`, however many: as one node they take one level."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AllOf(Node):
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    test: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Unary(Node):
    operator: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """A macro over a list or a map: `all`, `exists`, `existsOne`, `filter`, `map`, and those with two variables."""

    macro: str
    target: Node
    variables: tuple[str, ...]
    filter: Node | None
    body: Node


@dataclass(frozen=True, slots=True)
class LocalName(Node):
    """`cel.bind(name, value, body)`."""

    name: str
    value: Node
    body: Node


@dataclass(frozen=True, slots=True)
class OptionalMap(Node):
    """`target.optMap(name, body)`; `flat` for optFlatMap, whose body gives an optional itself."""

    target: Node
    name: str
    body: Node
    flat: bool


def children(node: Node) -> tuple[Node, ...]:
    """What is right below a node."""
    match node:
        case Select() | Has() | Unary():
            return (node.operand,)
        case Index():
            return node.operand, node.index
        case FunctionCall():
            return node.arguments if node.target is None else (node.target, *node.arguments)
        case ListOf():
            return node.items
        case MapOf():
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


def depth_of(tree: Node) -> int:
    """How many nodes are one in another, found without going as deep oneself."""
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((each, depth + 1) for each in children(node))
    return deepest


def names_in(tree: Node) -> frozenset[str]:
    """Every name that stands in it."""
    found: set[str] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Ident):
            found.add(node.name)
        waiting.extend(children(node))
    return frozenset(found)

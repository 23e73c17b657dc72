"""What expressions give and take: JSON as it is, and types that JSON has not.

A bool is no number here, though Python thinks so; numbers of all three types are equal when their values are. Maps are
dicts, lists are lists. `SetList` and `KeyedList` are lists of custom kinds whose order says nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult

from fairlead.core.quantity import Quantity
from fairlead.core.times import SECOND, timestamp
from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.lexer import Uint

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Spend = Callable[[int], None]


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanoseconds: int

    def __str__(self) -> str:
        seconds, rest = divmod(abs(self.nanoseconds), SECOND)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{'-' if self.nanoseconds < 0 else ''}{seconds}{fraction}s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    nanoseconds: int  # since the epoch

    def __str__(self) -> str:
        second, rest = divmod(self.nanoseconds, SECOND)
        fraction = f".{rest:09d}".rstrip("0") if rest else ""
        return f"{timestamp(second)[:-1]}{fraction}Z"


@dataclass(frozen=True, slots=True)
class OptionalValue:
    value: Any = None
    present: bool = False


NONE = OptionalValue()


@dataclass(frozen=True, slots=True)
class TypeValue:
    """What `type(x)` gives, and what the names of types stand for."""

    name: str


@dataclass(frozen=True, slots=True)
class Url:
    text: str
    parts: SplitResult


@dataclass(frozen=True, slots=True)
class Cidr:
    """A network as it was written: the address may have bits beyond the prefix."""

    address: Address
    network: Network


@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version."""

    major: int
    minor: int
    patch: int
    before: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Format:
    """One of the formats of names and texts that can be asked whether a text has it."""

    name: str
    problems: Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class MadeObject:
    """What `Object{...}` or `JSONPatch{...}` made: the name of the type, and the fields that were given."""

    name: str
    fields: Mapping[str, Any]


class SetList(list[Any]):
    """A list of a custom kind in which each element is there once."""

    __slots__ = ()


class KeyedList(list[Any]):
    """A list of a custom kind whose elements are told apart by some of their fields."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys


class LazyFields:
    """Base of values whose fields are found when they are asked for (`variables`)."""

    __slots__ = ()

    def value_of(self, name: str, spend: Spend) -> Any:
        raise EvaluationError(f"no such key: {name}")

    def has(self, name: str) -> bool:
        return False


class Opaque(LazyFields):
    """Base of values that a caller brings, and that only functions look into (`authorizer`)."""

    __slots__ = ()
    type_name = "opaque"


_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    SetList: "list",
    KeyedList: "list",
    dict: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    OptionalValue: "optional_type",
    TypeValue: "type",
    Quantity: "kubernetes.Quantity",
    Url: "kubernetes.URL",
    Cidr: "net.CIDR",
    ipaddress.IPv4Address: "net.IP",
    ipaddress.IPv6Address: "net.IP",
    Version: "kubernetes.Semver",
    Format: "kubernetes.NamedFormat",
}
_NUMBERS = frozenset({int, float, Uint})
_LISTS = frozenset({list, SetList, KeyedList})


def type_name(value: Any) -> str:
    if isinstance(value, MadeObject):
        return value.name
    if isinstance(value, Opaque):
        return value.type_name
    return _NAMES.get(type(value), "map")


def no_overload(name: str, *values: Any) -> EvaluationError:
    return EvaluationError(f"no such overload: {name}({', '.join(type_name(each) for each in values)})")


def is_number(value: Any) -> bool:
    return type(value) in _NUMBERS


def is_list(value: Any) -> bool:
    return type(value) in _LISTS


def equal(left: Any, right: Any, spend: Spend) -> bool:
    """`==` of CEL: values of different types are unequal, but for numbers."""
    one, other = type(left), type(right)
    if one is str and other is str:
        spend(min(len(left), len(right)) // 10)
        return bool(left == right)
    if one in _NUMBERS and other in _NUMBERS:
        return bool(left == right)
    if one in _LISTS and other in _LISTS:
        return _same_lists(left, right, spend)
    if one is dict and other is dict:
        if left.keys() != right.keys():
            return False
        for key, value in left.items():
            spend(1)
            if not equal(value, right[key], spend):
                return False
        return True
    if one is not other:
        return False
    if one is OptionalValue:
        return left.present == right.present and (not left.present or equal(left.value, right.value, spend))
    if one is MadeObject:
        return left.name == right.name and equal(dict(left.fields), dict(right.fields), spend)
    return bool(left == right)


def _same_lists(left: list[Any], right: list[Any], spend: Spend) -> bool:
    if len(left) != len(right):
        return False
    if isinstance(left, SetList | KeyedList):
        # Neither has an element twice: as many, and each of them there, is all of them.
        return all(contains(right, each, spend) for each in left)
    for one, other in zip(left, right, strict=True):
        spend(1)
        if not equal(one, other, spend):
            return False
    return True


def contains(items: list[Any], wanted: Any, spend: Spend) -> bool:
    for each in items:
        spend(1)
        if equal(each, wanted, spend):
            return True
    return False


def joined(left: list[Any], right: list[Any], spend: Spend) -> list[Any]:
    """`+` of lists: in sets what is there already is not added, in keyed lists it takes the other's place."""
    spend((len(left) + len(right)) // 10)
    if isinstance(left, SetList):
        return SetList([*left, *(each for each in right if not contains(left, each, spend))])
    if isinstance(left, KeyedList):
        named = {_named(left.keys, each): each for each in right}
        spend(len(left) + len(right))
        kept = [named.pop(_named(left.keys, each), each) for each in left]
        return KeyedList([*kept, *named.values()], left.keys)
    return [*left, *right]


def _named(keys: tuple[str, ...], element: Any) -> tuple[Any, ...]:
    if type(element) is not dict:
        raise EvaluationError("an element of a keyed list must be an object")
    return tuple(element.get(key) for key in keys)

"""Kubernetes' lists, CEL's sets and optional values."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.library.function import Library
from fairlead.model.cel.operators import BINARY, add
from fairlead.model.cel.values import (
    NONE,
    Duration,
    OptionalValue,
    Spend,
    contains,
    equal,
    is_list,
    no_overload,
)

LIBRARY = Library()
_less = BINARY["<"]
_at_most = BINARY["<="]


def _lists(name: str, *values: Any) -> None:
    for each in values:
        if not is_list(each):
            raise no_overload(name, *values)


def _is_sorted(spend: Spend, items: Any) -> bool:
    _lists("isSorted", items)
    for one, other in pairwise(items):
        spend(1)
        if not _at_most(one, other, spend):
            return False
    return True


def _sum(spend: Spend, items: Any) -> Any:
    _lists("sum", items)
    total: Any = None
    for each in items:
        spend(1)
        if type(each) is bool or not isinstance(each, int | float | Duration):
            raise no_overload("sum", items)
        total = each if total is None else add(total, each, spend)
    return 0 if total is None else total


def _least(spend: Spend, items: Any) -> Any:
    return _extreme(spend, items, "min", first=True)


def _most(spend: Spend, items: Any) -> Any:
    return _extreme(spend, items, "max", first=False)


def _extreme(spend: Spend, items: Any, name: str, *, first: bool) -> Any:
    _lists(name, items)
    if not items:
        raise EvaluationError(f"{name} called on empty list")
    found = items[0]
    for each in items[1:]:
        spend(1)
        if _less(each, found, spend) if first else _less(found, each, spend):
            found = each
    return found


def index_of(spend: Spend, items: list[Any], wanted: Any) -> int:
    for place, each in enumerate(items):
        spend(1)
        if equal(each, wanted, spend):
            return place
    return -1


def last_index_of(spend: Spend, items: list[Any], wanted: Any) -> int:
    found = index_of(spend, items[::-1], wanted)
    return -1 if found < 0 else len(items) - 1 - found


def _includes(spend: Spend, items: Any, others: Any) -> bool:
    _lists("sets.contains", items, others)
    return all(contains(items, each, spend) for each in others)


def _equivalent(spend: Spend, items: Any, others: Any) -> bool:
    return _includes(spend, items, others) and _includes(spend, others, items)


def _intersects(spend: Spend, items: Any, others: Any) -> bool:
    _lists("sets.intersects", items, others)
    return any(contains(items, each, spend) for each in others)


def _optional(name: str, value: Any) -> OptionalValue:
    if isinstance(value, OptionalValue):
        return value
    raise no_overload(name, value)


def _or_value(spend: Spend, value: Any, otherwise: Any) -> Any:
    found = _optional("orValue", value)
    return found.value if found.present else otherwise


def _or(spend: Spend, value: Any, otherwise: Any) -> OptionalValue:
    found = _optional("or", value)
    return found if found.present else _optional("or", otherwise)


def _value(spend: Spend, value: Any) -> Any:
    found = _optional("value", value)
    if not found.present:
        raise EvaluationError("optional.none() dereference")
    return found.value


def _has_value(spend: Spend, value: Any) -> bool:
    return _optional("hasValue", value).present


def _some(spend: Spend, value: Any) -> OptionalValue:
    return OptionalValue(value, True)


def _unless_zero(spend: Spend, value: Any) -> OptionalValue:
    empty = value is None or value is False or (type(value) is not bool and value in (0, "", b""))
    return NONE if empty or (isinstance(value, list | dict) and not value) else OptionalValue(value, True)


def _none(spend: Spend) -> OptionalValue:
    return NONE


LIBRARY.method("isSorted", 0, _is_sorted, "bool", "list")
LIBRARY.method("sum", 0, _sum, "dyn", "list")
LIBRARY.method("min", 0, _least, "dyn", "list")
LIBRARY.method("max", 0, _most, "dyn", "list")
LIBRARY.function("sets.contains", 2, _includes, "bool")
LIBRARY.function("sets.equivalent", 2, _equivalent, "bool")
LIBRARY.function("sets.intersects", 2, _intersects, "bool")
LIBRARY.function("optional.of", 1, _some, "optional_type")
LIBRARY.function("optional.ofNonZeroValue", 1, _unless_zero, "optional_type")
LIBRARY.function("optional.none", 0, _none, "optional_type")
LIBRARY.method("orValue", 1, _or_value, "dyn", "optional_type")
LIBRARY.method("or", 1, _or, "optional_type", "optional_type")
LIBRARY.method("value", 0, _value, "dyn", "optional_type")
LIBRARY.method("hasValue", 0, _has_value, "bool", "optional_type")

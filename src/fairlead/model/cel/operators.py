"""Arithmetic and comparison: whole numbers of 64 bits that do not overflow silently, instants and durations.

Called by the functions that `compiler.py` makes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.lexer import INT_MAX, INT_MIN, UINT_MAX, Uint
from fairlead.model.cel.values import (
    Duration,
    Spend,
    Timestamp,
    equal,
    is_list,
    is_number,
    joined,
    no_overload,
)

Operator = Callable[[Any, Any, Spend], Any]

# Instants of years 1 to 9999, as Kubernetes has them.
_EARLIEST, _LATEST = -62135596800 * 10**9, 253402300799 * 10**9 + 999_999_999


def whole(value: int, sort: type[int] = int) -> int:
    if sort is Uint:
        if not 0 <= value <= UINT_MAX:
            raise EvaluationError("unsigned integer overflow")
        return Uint(value)
    if not INT_MIN <= value <= INT_MAX:
        raise EvaluationError("integer overflow")
    return value


def moment(nanoseconds: int) -> Timestamp:
    if not _EARLIEST <= nanoseconds <= _LATEST:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanoseconds)


def span(nanoseconds: int) -> Duration:
    if not INT_MIN <= nanoseconds <= INT_MAX:
        raise EvaluationError("duration overflow")
    return Duration(nanoseconds)


def add(left: Any, right: Any, spend: Spend) -> Any:
    one, other = type(left), type(right)
    if one is other:
        if one is int or one is Uint:
            return whole(int(left) + int(right), one)
        if one is float:
            return left + right
        if one is str or one is bytes:
            spend((len(left) + len(right)) // 10)
            return left + right
        if one is Duration:
            return span(left.nanoseconds + right.nanoseconds)
    if is_list(left) and is_list(right):
        return joined(left, right, spend)
    if (one is Timestamp and other is Duration) or (one is Duration and other is Timestamp):
        return moment(left.nanoseconds + right.nanoseconds)
    raise no_overload("_+_", left, right)


def subtract(left: Any, right: Any, spend: Spend) -> Any:
    one, other = type(left), type(right)
    if one is other:
        if one is int or one is Uint:
            return whole(int(left) - int(right), one)
        if one is float:
            return left - right
        if one is Duration or one is Timestamp:
            return span(left.nanoseconds - right.nanoseconds)
    if one is Timestamp and other is Duration:
        return moment(left.nanoseconds - right.nanoseconds)
    raise no_overload("_-_", left, right)


def multiply(left: Any, right: Any, spend: Spend) -> Any:
    one = type(left)
    if one is type(right):
        if one is int or one is Uint:
            return whole(int(left) * int(right), one)
        if one is float:
            return left * right
    raise no_overload("_*_", left, right)


def divide(left: Any, right: Any, spend: Spend) -> Any:
    one = type(left)
    if one is type(right):
        if one is int or one is Uint:
            if right == 0:
                raise EvaluationError("division by zero")
            quotient = abs(int(left)) // abs(int(right))
            return whole(quotient if (left < 0) == (right < 0) else -quotient, one)
        if one is float:
            if right:
                return left / right
            same_sign = math.copysign(1, left) == math.copysign(1, right)
            return math.nan if left == 0 or math.isnan(left) else math.inf if same_sign else -math.inf
    raise no_overload("_/_", left, right)


def remainder(left: Any, right: Any, spend: Spend) -> Any:
    one = type(left)
    if one is type(right) and (one is int or one is Uint):
        if right == 0:
            raise EvaluationError("modulus by zero")
        rest = abs(int(left)) % abs(int(right))
        return whole(rest if left >= 0 else -rest, one)
    raise no_overload("_%_", left, right)


_ORDERED = frozenset({str, bytes, bool, Timestamp, Duration})


def _comparison(name: str, compare: Callable[[Any, Any], Any]) -> Operator:
    def compared(left: Any, right: Any, spend: Spend) -> bool:
        if is_number(left) and is_number(right):
            return bool(compare(left, right))
        one = type(left)
        if one is not type(right) or one not in _ORDERED:
            raise no_overload(f"_{name}_", left, right)
        if one is str or one is bytes:
            spend(min(len(left), len(right)) // 10)
        return bool(compare(left, right))

    return compared


def _unequal(left: Any, right: Any, spend: Spend) -> bool:
    return not equal(left, right, spend)


def within(left: Any, right: Any, spend: Spend) -> bool:
    if type(right) is dict:
        return type(left) in (str, int, Uint) and left in right
    if is_list(right):
        for each in right:
            spend(1)
            if equal(each, left, spend):
                return True
        return False
    raise no_overload("@in", left, right)


BINARY: dict[str, Operator] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "==": equal,
    "!=": _unequal,
    "<": _comparison("<", operator.lt),
    "<=": _comparison("<=", operator.le),
    ">": _comparison(">", operator.gt),
    ">=": _comparison(">=", operator.ge),
    "in": within,
}


def negative(value: Any) -> Any:
    if type(value) is int:
        return whole(-value)
    if type(value) is float:
        return -value
    if type(value) is Duration:
        return span(-value.nanoseconds)
    raise no_overload("-_", value)

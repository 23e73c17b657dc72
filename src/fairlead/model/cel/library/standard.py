"""The functions of CEL itself: sizes, conversions, instants and durations, and the words of strings."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from fairlead.core.times import SECOND, parse_duration, parse_time
from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.lexer import INT_MAX, INT_MIN, Uint
from fairlead.model.cel.library.function import Library
from fairlead.model.cel.operators import moment, whole
from fairlead.model.cel.values import (
    Duration,
    MadeObject,
    Spend,
    Timestamp,
    TypeValue,
    is_list,
    no_overload,
    type_name,
)

LIBRARY = Library()


def _size(spend: Spend, value: Any) -> int:
    if type(value) in (str, bytes, dict) or is_list(value):
        return len(value)
    raise no_overload("size", value)


def _int(spend: Spend, value: Any) -> int:
    if type(value) is str:
        spend(len(value) // 10)
        text = value.removeprefix("-")
        if not (text.isascii() and text.isdigit() and len(text) <= 19):
            raise EvaluationError(f"type conversion error from 'string' to 'int': {value[:40]}")
        return whole(int(value))
    if type(value) is float:
        if not INT_MIN <= value <= INT_MAX or math.isnan(value):
            raise EvaluationError("integer overflow")
        return whole(int(value))
    if type(value) in (int, Uint):
        return whole(int(value))
    if type(value) is Timestamp:
        return value.nanoseconds // SECOND
    if type(value) is Duration:
        return value.nanoseconds
    raise no_overload("int", value)


def _uint(spend: Spend, value: Any) -> int:
    if type(value) is str:
        if not (value.isascii() and value.isdigit() and len(value) <= 20):
            raise EvaluationError(f"type conversion error from 'string' to 'uint': {value[:40]}")
        return whole(int(value), Uint)
    if type(value) in (int, Uint) or (type(value) is float and math.isfinite(value)):
        return whole(int(value), Uint)
    raise no_overload("uint", value)


def _double(spend: Spend, value: Any) -> float:
    if type(value) in (int, Uint, float):
        return float(value)
    if type(value) is str and len(value) <= 64 and "_" not in value:
        try:
            return float(value)
        except ValueError:
            pass
    if type(value) is str:
        raise EvaluationError(f"type conversion error from 'string' to 'double': {value[:40]}")
    raise no_overload("double", value)


def text_of(spend: Spend, value: Any) -> str:
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is float:
        return number_text(value)
    if type(value) in (int, Uint):
        return str(int(value))
    if type(value) is bytes:
        spend(len(value) // 10)
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    if type(value) in (Timestamp, Duration) or type_name(value) in (
        "net.IP",
        "kubernetes.Quantity",
        "net.CIDR",
    ):
        return str(value)
    raise no_overload("string", value)


def number_text(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    shown = repr(value)
    return shown.removesuffix(".0")


def _bytes(spend: Spend, value: Any) -> bytes:
    if type(value) is str:
        spend(len(value) // 10)
        return value.encode()
    if type(value) is bytes:
        return value
    raise no_overload("bytes", value)


def _bool(spend: Spend, value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value) is str:
        if value in ("true", "True", "TRUE", "t", "1"):
            return True
        if value in ("false", "False", "FALSE", "f", "0"):
            return False
        raise EvaluationError(f"type conversion error from 'string' to 'bool': {value[:40]}")
    raise no_overload("bool", value)


def timestamp_of(text: str) -> Timestamp:
    return moment(round(parse_time(text) * 10**6) * 1000)


def _timestamp(spend: Spend, value: Any) -> Timestamp:
    if type(value) is Timestamp:
        return value
    if type(value) is int:
        return moment(value * SECOND)
    if type(value) is str:
        try:
            return timestamp_of(value)
        except ValueError as error:
            raise EvaluationError(str(error)) from None
    raise no_overload("timestamp", value)


def _duration(spend: Spend, value: Any) -> Duration:
    if type(value) is Duration:
        return value
    if type(value) is str:
        try:
            return Duration(parse_duration(value))
        except ValueError as error:
            raise EvaluationError(str(error)) from None
    raise no_overload("duration", value)


def _type(spend: Spend, value: Any) -> TypeValue:
    return TypeValue(
        "Object" if isinstance(value, MadeObject) and value.name == "Object" else type_name(value)
    )


def _same(spend: Spend, value: Any) -> Any:
    return value


def _of_text(name: str, ask: Callable[[str, str], bool]) -> None:
    def call(spend: Spend, text: Any, part: Any) -> bool:
        if type(text) is not str or type(part) is not str:
            raise no_overload(name, text, part)
        spend(len(text) // 10)
        return ask(text, part)

    LIBRARY.method(name, 1, call, "bool", "string")


def _zone(name: Any) -> timezone | ZoneInfo:
    if type(name) is not str:
        raise no_overload("time zone", name)
    try:
        if name[:1] in "+-" or name[:1].isdigit():
            hours, minutes = name.lstrip("+-").split(":")
            shift = timedelta(hours=int(hours), minutes=int(minutes))
            return timezone(-shift if name.startswith("-") else shift)
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise EvaluationError(f"unknown time zone {name[:40]}") from None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _part(name: str, of_time: Callable[[datetime], int], of_duration: int = 0) -> None:
    def call(spend: Spend, value: Any, zone: Any = "UTC") -> int:
        if type(value) is Duration and of_duration:
            quotient = abs(value.nanoseconds) // of_duration
            return quotient if value.nanoseconds >= 0 else -quotient
        if type(value) is not Timestamp:
            raise no_overload(name, value)
        try:
            then = _EPOCH + timedelta(microseconds=value.nanoseconds // 1000)
            return of_time(then.astimezone(UTC if zone == "UTC" else _zone(zone)))
        except OverflowError:
            raise EvaluationError("timestamp overflow") from None

    on = "google.protobuf.Timestamp" + (" google.protobuf.Duration" if of_duration else "")
    LIBRARY.method(name, 0, call, "int", on)
    LIBRARY.method(name, 1, call, "int", "google.protobuf.Timestamp")


def _milliseconds(spend: Spend, value: Any, zone: Any = "UTC") -> int:
    if type(value) is Duration:
        # Of the whole second, as CEL has it for instants; of all of it for durations.
        return value.nanoseconds // 10**6
    if type(value) is Timestamp:
        return value.nanoseconds % SECOND // 10**6
    raise no_overload("getMilliseconds", value)


LIBRARY.function("size", 1, _size, "int")
LIBRARY.method("size", 0, _size, "int", "string bytes list map")
LIBRARY.function("int", 1, _int, "int")
LIBRARY.function("uint", 1, _uint, "uint")
LIBRARY.function("double", 1, _double, "double")
LIBRARY.function("string", 1, text_of, "string")
LIBRARY.function("bytes", 1, _bytes, "bytes")
LIBRARY.function("bool", 1, _bool, "bool")
LIBRARY.function("timestamp", 1, _timestamp, "google.protobuf.Timestamp")
LIBRARY.function("duration", 1, _duration, "google.protobuf.Duration")
LIBRARY.function("type", 1, _type, "type")
LIBRARY.function("dyn", 1, _same, "dyn")
_of_text("contains", lambda text, part: part in text)
_of_text("startsWith", str.startswith)
_of_text("endsWith", str.endswith)
_part("getFullYear", lambda then: then.year)
_part("getMonth", lambda then: then.month - 1)
_part("getDate", lambda then: then.day)
_part("getDayOfMonth", lambda then: then.day - 1)
_part("getDayOfWeek", lambda then: then.isoweekday() % 7)
_part("getDayOfYear", lambda then: then.timetuple().tm_yday - 1)
_part("getHours", lambda then: then.hour, 3600 * SECOND)
_part("getMinutes", lambda then: then.minute, 60 * SECOND)
_part("getSeconds", lambda then: then.second, SECOND)
LIBRARY.method(
    "getMilliseconds", 0, _milliseconds, "int", "google.protobuf.Timestamp google.protobuf.Duration"
)
LIBRARY.method("getMilliseconds", 1, _milliseconds, "int", "google.protobuf.Timestamp")

"""Kubernetes' quantities, semantic versions and named formats."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fairlead.core.quantity import NANO, Quantity, parse
from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.lexer import INT_MAX, INT_MIN
from fairlead.model.cel.library.function import Library
from fairlead.model.cel.values import NONE, Format, OptionalValue, Spend, Version, no_overload
from fairlead.model.custom.formats import FORMATS
from fairlead.model.names import label_key_problems, label_problems, label_value_problems, subdomain_problems

LIBRARY = Library()
_QUANTITY, _VERSION = "kubernetes.Quantity", "kubernetes.Semver"


def _quantity_of(value: Any) -> Quantity:
    if type(value) is not str:
        raise no_overload("quantity", value)
    return parse(value)


def _quantity(spend: Spend, value: Any) -> Quantity:
    try:
        return _quantity_of(value)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _is_quantity(spend: Spend, value: Any) -> bool:
    try:
        _quantity_of(value)
    except ValueError:
        return False
    return True


def _sign(spend: Spend, value: Any) -> int:
    one = _held("sign", value)
    return (one.nano > 0) - (one.nano < 0)


def _held(name: str, value: Any) -> Quantity:
    if isinstance(value, Quantity):
        return value
    raise no_overload(name, value)


def _is_integer(spend: Spend, value: Any) -> bool:
    amount = _held("isInteger", value).nano
    return amount % NANO == 0 and INT_MIN <= amount // NANO <= INT_MAX


def _as_integer(spend: Spend, value: Any) -> int:
    if not _is_integer(spend, value):
        raise EvaluationError("cannot convert value to integer")
    return int(value.nano // NANO)


def _as_float(spend: Spend, value: Any) -> float:
    return _held("asApproximateFloat", value).nano / NANO


def _plus(spend: Spend, value: Any, other: Any) -> Quantity:
    return _held("add", value) + _amount("add", other)


def _minus(spend: Spend, value: Any, other: Any) -> Quantity:
    return _held("sub", value) - _amount("sub", other)


def _amount(name: str, value: Any) -> Quantity:
    return Quantity(value * NANO) if type(value) is int else _held(name, value)


_SEMVER = re.compile(
    r"(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})"
    r"(?:-([0-9A-Za-z.-]{1,200}))?(?:\+[0-9A-Za-z.-]{1,200})?"
)
_LOOSE = re.compile(
    r"v?([0-9]{1,18})(?:\.([0-9]{1,18}))?(?:\.([0-9]{1,18}))?(-[0-9A-Za-z.-]{1,200})?(\+.{0,200})?"
)


def _version_of(text: Any, loose: Any = False) -> Version:
    if type(text) is not str or type(loose) is not bool:
        raise no_overload("semver", text)
    if loose and (parts := _LOOSE.fullmatch(text)):
        numbers = [str(int(parts[place] or "0")) for place in (1, 2, 3)]
        text = ".".join(numbers) + (parts[4] or "")
    found = _SEMVER.fullmatch(text)
    if found is None:
        raise ValueError(f"No Major.Minor.Patch elements found in {text[:64]!r}")
    before = tuple((found[4] or "").split(".")) if found[4] else ()
    if any(not each or (each.isdigit() and len(each) > 1 and each[0] == "0") for each in before):
        raise ValueError(f"Invalid prerelease in {text[:64]!r}")
    return Version(int(found[1]), int(found[2]), int(found[3]), before)


def _order(version: Version) -> tuple[Any, ...]:
    """What comes before a release is less than it; parts that are numbers are less than words."""
    before = tuple((0, int(each), "") if each.isdigit() else (1, 0, each) for each in version.before)
    return version.major, version.minor, version.patch, not before, before


def _semver(spend: Spend, text: Any, loose: Any = False) -> Version:
    try:
        return _version_of(text, loose)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _is_semver(spend: Spend, text: Any, loose: Any = False) -> bool:
    try:
        _version_of(text, loose)
    except ValueError:
        return False
    return True


def _compare(spend: Spend, value: Any, other: Any) -> int:
    one: Any
    two: Any
    if isinstance(value, Quantity) and isinstance(other, Quantity):
        one, two = value.nano, other.nano
    elif isinstance(value, Version) and isinstance(other, Version):
        one, two = _order(value), _order(other)
    else:
        raise no_overload("compareTo", value, other)
    return int(one > two) - int(one < two)


def _greater(spend: Spend, value: Any, other: Any) -> bool:
    return _compare(spend, value, other) > 0


def _less(spend: Spend, value: Any, other: Any) -> bool:
    return _compare(spend, value, other) < 0


def _part(name: str, ask: Callable[[Version], int]) -> None:
    def call(spend: Spend, value: Any) -> int:
        if not isinstance(value, Version):
            raise no_overload(name, value)
        return ask(value)

    LIBRARY.method(name, 0, call, "int", _VERSION)


def _told(what: str, fits: Callable[[str], bool]) -> Callable[[str], list[str]]:
    return lambda text: [] if fits(text) else [f"must be {what}"]


_FORMATS: dict[str, Format] = {
    each.name: each
    for each in (
        Format("dns1123Label", label_problems),
        Format("dns1123Subdomain", subdomain_problems),
        Format("qualifiedName", label_key_problems),
        Format("labelValue", label_value_problems),
        Format("uuid", _told("a UUID", FORMATS["uuid"])),
        Format("uri", _told("a URI", FORMATS["uri"])),
        Format("byte", _told("base64", FORMATS["byte"])),
        Format("date", _told("a date", FORMATS["date"])),
        Format("datetime", _told("an RFC 3339 instant", FORMATS["datetime"])),
    )
}


def _named(spend: Spend, name: Any) -> OptionalValue:
    found = _FORMATS.get(name) if type(name) is str else None
    return NONE if found is None else OptionalValue(found, True)


def _validate(spend: Spend, value: Any, text: Any) -> OptionalValue:
    if not isinstance(value, Format) or type(text) is not str:
        raise no_overload("validate", value, text)
    spend(len(text) // 10)
    problems = value.problems(text)
    return OptionalValue(problems, True) if problems else NONE


def _constant(found: Format) -> Callable[[Spend], Format]:
    return lambda spend: found


for _name, _format in _FORMATS.items():
    LIBRARY.function(f"format.{_name}", 0, _constant(_format), "kubernetes.NamedFormat")
LIBRARY.function("format.named", 1, _named, "optional_type")
LIBRARY.method("validate", 1, _validate, "optional_type", "kubernetes.NamedFormat")
LIBRARY.function("quantity", 1, _quantity, _QUANTITY)
LIBRARY.function("isQuantity", 1, _is_quantity, "bool")
LIBRARY.method("sign", 0, _sign, "int", _QUANTITY)
LIBRARY.method("isInteger", 0, _is_integer, "bool", _QUANTITY)
LIBRARY.method("asInteger", 0, _as_integer, "int", _QUANTITY)
LIBRARY.method("asApproximateFloat", 0, _as_float, "double", _QUANTITY)
LIBRARY.method("add", 1, _plus, _QUANTITY, _QUANTITY)
LIBRARY.method("sub", 1, _minus, _QUANTITY, _QUANTITY)
LIBRARY.method("compareTo", 1, _compare, "int", f"{_QUANTITY} {_VERSION}")
LIBRARY.method("isGreaterThan", 1, _greater, "bool", f"{_QUANTITY} {_VERSION}")
LIBRARY.method("isLessThan", 1, _less, "bool", f"{_QUANTITY} {_VERSION}")
for _many in (1, 2):
    LIBRARY.function("semver", _many, _semver, _VERSION)
    LIBRARY.function("isSemver", _many, _is_semver, "bool")
_part("major", lambda version: version.major)
_part("minor", lambda version: version.minor)
_part("patch", lambda version: version.patch)

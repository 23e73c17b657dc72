"""Resource quantities ("500m", "1.5Gi", "2e3") with Kubernetes' syntax, rounding and canonical spelling.

Read by validation and defaulting (is it a quantity, how is it spelt), by quota and by the scheduler, which
want plain integers: `milli` for cpu, `value` for everything else. All arithmetic is on integers of 10^-9 (the
finest grain Kubernetes keeps), never on floats. Parsing rounds anything finer away from zero and caps at
2^63-1, as Kubernetes documents; sums are exact and not capped. Text that is no quantity raises ValueError,
whose message is Kubernetes' own, for the caller to put beside the field's path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

Form = Literal["binary", "decimal", "exponent"]

NANO = 10**9
_MILLI = 10**6
_CAP = (2**63 - 1) * NANO
_EXPONENT_MAX = 2**63 - 1
# Longer text is refused before any arithmetic on it.
_LENGTH_MAX = 256

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_WRONG = "unable to parse quantity's suffix"

_SYNTAX = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_NAMES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL_NAMES = {power: name for name, power in _DECIMAL.items()}


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount. Two quantities are equal when their amounts are, however they were written."""

    nano: int
    form: Form = field(default="decimal", compare=False)

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, spelt like the left side unless that is zero."""
        return Quantity(self.nano + other.nano, self.form if self.nano else other.form)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano - other.nano, self.form if self.nano else other.form)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nano, self.form)

    def __bool__(self) -> bool:
        return self.nano != 0

    def milli(self) -> int:
        """Thousandths, rounded away from zero."""
        return _divided(self.nano, _MILLI)

    def value(self) -> int:
        """Whole units, rounded away from zero."""
        return _divided(self.nano, NANO)

    def __str__(self) -> str:
        """The canonical spelling: no fraction, the largest suffix that loses nothing."""
        nano = self.nano
        if nano == 0:
            return "0"
        if self.form == "binary" and nano % NANO == 0 and not -1024 * NANO < nano < 1024 * NANO:
            return _binary_text(nano // NANO)
        power = -9
        while power < 18 and nano % 1000 == 0:
            nano //= 1000
            power += 3
        if self.form == "exponent":
            return f"{nano}e{power}" if power else str(nano)
        return f"{nano}{_DECIMAL_NAMES[power]}"


ZERO = Quantity(0)


def _divided(nano: int, unit: int) -> int:
    return -(-nano // unit) if nano >= 0 else nano // unit


def _binary_text(whole: int) -> str:
    step = 0
    while step < 6 and whole % 1024 == 0:
        whole //= 1024
        step += 1
    return f"{whole}{_BINARY_NAMES[step]}"


def _scale(suffix: str) -> tuple[Form, int]:
    """The suffix's form and its power, of two for binary and of ten for the others."""
    if suffix in _DECIMAL:
        return "decimal", _DECIMAL[suffix]
    if suffix in _BINARY:
        return "binary", _BINARY[suffix]
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None or abs(int(exponent[1])) > _EXPONENT_MAX:
        raise ValueError(SUFFIX_WRONG)
    return "exponent", int(exponent[1])


def _tens(power: int) -> int:
    return int(10**power)


def _nano(digits: int, decimals: int, form: Form, power: int) -> int:
    """digits * 10^-decimals * suffix in nanos, rounded up and capped, without building enormous numbers."""
    if form == "binary":
        numerator, ten = digits << power, 9 - decimals
    else:
        numerator, ten = digits, 9 - decimals + power
    if ten > 30:
        return _CAP if numerator else 0
    if ten >= 0:
        return min(numerator * _tens(ten), _CAP)
    if ten < -_LENGTH_MAX - 60:
        return 1 if numerator else 0
    return min(-(-numerator // _tens(-ten)), _CAP)


@lru_cache(maxsize=8192)
def parse(text: str) -> Quantity:
    """The quantity that the text spells, or ValueError with Kubernetes' message."""
    parts = _SYNTAX.fullmatch(text) if len(text) <= _LENGTH_MAX else None
    if parts is None:
        raise ValueError(FORMAT_WRONG)
    sign, whole, fraction, suffix = parts[1], parts[2], parts[3] or "", parts[4]
    if not whole and not fraction:
        raise ValueError(FORMAT_WRONG)
    form, power = _scale(suffix)
    nano = _nano(int(whole + fraction), len(fraction), form, power)
    # Less than one of a binary unit could not be spelt with a binary suffix.
    if form == "binary" and nano < NANO:
        form = "decimal"
    return Quantity(-nano if sign == "-" else nano, form)


@lru_cache(maxsize=8192)
def parse_quantity(text: str) -> Fraction:
    """The exact amount as a number, for validators that compare it with other numbers."""
    return Fraction(parse(text).nano, NANO)


def from_json(value: Any) -> Quantity:
    """A quantity as it may stand in JSON: a string, or a number taken literally."""
    if isinstance(value, str):
        return parse(value.strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(FORMAT_WRONG)
    return parse(str(value))


@lru_cache(maxsize=8192)
def canonical(text: str) -> str:
    """The spelling under which Kubernetes stores and prints this quantity."""
    return str(parse(text))


@lru_cache(maxsize=8192)
def milli(text: str) -> int:
    """Thousandths, rounded up: what a scheduler counts cpu in."""
    return parse(text).milli()


@lru_cache(maxsize=8192)
def value(text: str) -> int:
    """Whole units, rounded up: what a scheduler counts memory and devices in."""
    return parse(text).value()


def compare(left: str, right: str) -> int:
    """-1, 0 or 1."""
    one, other = parse(left).nano, parse(right).nano
    return (one > other) - (one < other)


def total(texts: Iterable[str]) -> str:
    """The canonical sum of any number of quantities, spelt in the form of the first that is not zero."""
    return str(sum(map(parse, texts), ZERO))

"""Quantities against exact fractions: reading, spelling, ordering, sums."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.core import quantity

_SCALES = {f"e{power}": Fraction(10) ** power for power in range(-12, 16)}
_SCALES.update(
    {name: Fraction(10) ** (3 * index - 9) for index, name in enumerate(["n", "u", "m", "", *"kMGTPE"])}
)
_SCALES.update({name + "i": Fraction(1024 ** (index + 1)) for index, name in enumerate("KMGTPE")})
CAP = 2**63 - 1


@st.composite
def spelt(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A quantity's text and its exact value, before rounding and capping."""
    sign = draw(st.sampled_from(["", "+", "-"]))
    whole = draw(st.integers(0, 10**12))
    fraction = draw(st.from_regex(r"[0-9]{0,12}", fullmatch=True))
    suffix = draw(st.sampled_from(sorted(_SCALES)))
    number = f"{whole}.{fraction}" if fraction else str(whole)
    exact = Fraction(number) * _SCALES[suffix]
    return f"{sign}{number}{suffix}", -exact if sign == "-" else exact


def kept(exact: Fraction) -> Fraction:
    """What Kubernetes keeps of it: nanos, rounded away from zero, capped."""
    nano = min(math.ceil(abs(exact) * 10**9), CAP * 10**9)
    return Fraction(nano if exact >= 0 else -nano, 10**9)


@given(spelt())
@example(("-0.0000000001", Fraction(-1, 10**10)))
def test_a_text_means_its_fraction_rounded_away_from_zero(case: tuple[str, Fraction]) -> None:
    text, exact = case
    amount = kept(exact)
    assert quantity.parse_quantity(text) == amount
    whole = quantity.value(text)
    assert abs(whole) == math.ceil(abs(amount))
    assert abs(quantity.milli(text)) == math.ceil(abs(amount) * 1000)
    assert whole * amount >= 0


@given(spelt())
def test_the_canonical_spelling_means_the_same_and_is_a_fixed_point(case: tuple[str, Fraction]) -> None:
    text, _ = case
    canonical = quantity.canonical(text)
    assert quantity.compare(text, canonical) == 0
    assert quantity.canonical(canonical) == canonical
    assert "." not in canonical


@given(spelt(), spelt())
def test_order_and_sums_are_those_of_the_fractions(
    left: tuple[str, Fraction], right: tuple[str, Fraction]
) -> None:
    one, other = kept(left[1]), kept(right[1])
    assert quantity.compare(left[0], right[0]) == (one > other) - (one < other)
    total = quantity.parse(left[0]) + quantity.parse(right[0])
    assert Fraction(total.nano, 10**9) == one + other
    difference = quantity.parse(left[0]) - quantity.parse(right[0])
    assert Fraction(difference.nano, 10**9) == one - other


@given(st.text(max_size=20) | st.from_regex(r"[-+.0-9eEinumkKMGTP]{0,12}", fullmatch=True))
def test_any_text_is_a_quantity_or_a_value_error(text: str) -> None:
    try:
        amount = quantity.parse(text)
    except ValueError as error:
        message = str(error)
    else:
        message = quantity.FORMAT_WRONG
        assert quantity.parse(str(amount)) == amount
    assert message in (quantity.FORMAT_WRONG, quantity.SUFFIX_WRONG)

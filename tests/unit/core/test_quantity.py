"""Quantities: what is accepted, how it is spelt, how it rounds, and what schedulers get."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fairlead.core import quantity

FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX = "unable to parse quantity's suffix"
MAX = 2**63 - 1
_MORE_WRONG = ["1" * 257, "1\n", "1_000", "NaN", "Infinity", "1 Gi", "1KI"]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("0m", "0"),
        ("0Gi", "0"),
        ("-0", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("007", "7"),
        ("5.", "5"),
        (".5", "500m"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("100m", "100m"),
        ("2000000u", "2"),
        ("1n", "1n"),
        ("1u", "1u"),
        ("0.1u", "100n"),
        ("1000", "1k"),
        ("12000", "12k"),
        ("1100", "1100"),
        ("123456", "123456"),
        ("1000000", "1M"),
        ("1M", "1M"),
        ("0.001k", "1"),
        ("1000G", "1T"),
        ("1E", "1E"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("12e5", "1200e3"),
        ("1e-3", "1e-3"),
        ("1e0", "1"),
        ("100e-3", "100e-3"),
        ("1.5e3", "1500"),
        ("1e+3", "1e3"),
        ("1Ki", "1Ki"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("1500Mi", "1500Mi"),
        ("0.5Ki", "512"),
        ("1.3Mi", "1363148800m"),
        ("0.0001Ki", "102400u"),
        ("-1.5Gi", "-1536Mi"),
        ("-500m", "-500m"),
        ("-1Ki", "-1Ki"),
        ("1Ei", "1Ei"),
    ],
)
def test_quantities_are_spelt_as_kubernetes_spells_them(text: str, canonical: str) -> None:
    assert quantity.canonical(text) == canonical
    assert quantity.canonical(canonical) == canonical
    assert quantity.compare(text, canonical) == 0


@pytest.mark.parametrize(
    ("text", "nano"),
    [
        ("0.1n", 1),
        ("1.1n", 2),
        ("-0.1n", -1),
        ("1e-30", 1),
        ("1e-999999999", 1),
        ("0e-999999999", 0),
        ("0.00000000001Ki", 11),
        ("0." + "0" * 200 + "1", 1),
    ],
)
def test_what_is_finer_than_a_nano_rounds_away_from_zero(text: str, nano: int) -> None:
    assert quantity.parse(text).nano == nano


@pytest.mark.parametrize(
    "text", ["9223372036854775807", "9223372036854775808", "8Ei", "1e30", "1e999999999", "9" * 200, "100E"]
)
def test_quantities_are_capped_at_the_largest_int64(text: str) -> None:
    assert quantity.value(text) == MAX
    assert quantity.value("-" + text) == -MAX


def test_a_zero_with_an_enormous_exponent_is_zero() -> None:
    assert quantity.parse("0e999999999") == quantity.ZERO


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 ",
        " 1",
        "abc",
        "1.1.1",
        "--1",
        "+",
        "-",
        ".",
        "m",
        "Gi",
        "1,5",
        "0x10",
        "1Ki2Mi",
        "١",
        *_MORE_WRONG,
    ],
)
def test_text_that_is_no_quantity_is_refused_in_kubernetes_words(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        quantity.parse(text)
    assert str(caught.value) == FORMAT


@pytest.mark.parametrize(
    "text", ["1K", "1i", "1ki", "1mi", "1+1", "1e", "1e-", "1mm", "1Mi3", "1m3", "1e99999999999999999999"]
)
def test_an_unknown_suffix_is_named_as_the_mistake(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        quantity.parse(text)
    assert str(caught.value) == SUFFIX


@pytest.mark.parametrize(
    ("text", "milli", "value"),
    [
        ("1", 1000, 1),
        ("100m", 100, 1),
        ("1.5", 1500, 2),
        ("1n", 1, 1),
        ("0", 0, 0),
        ("2Gi", 2 * 2**30 * 1000, 2**31),
        ("-1.5", -1500, -2),
        ("1001u", 2, 1),
    ],
)
def test_schedulers_get_integers_rounded_up(text: str, milli: int, value: int) -> None:
    assert quantity.milli(text) == milli
    assert quantity.value(text) == value


@pytest.mark.parametrize(
    ("left", "right", "sum_", "difference"),
    [
        ("1", "500m", "1500m", "500m"),
        ("1Gi", "512Mi", "1536Mi", "512Mi"),
        ("1Gi", "1G", "2073741824", "73741824"),
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("500m", "500m", "1", "0"),
        ("1e3", "1k", "2e3", "0"),
        ("8Ei", "8Ei", "18446744073709551614", "0"),
    ],
)
def test_sums_are_exact_and_keep_the_left_sides_form(
    left: str, right: str, sum_: str, difference: str
) -> None:
    assert str(quantity.parse(left) + quantity.parse(right)) == sum_
    assert str(quantity.parse(left) - quantity.parse(right)) == difference


def test_a_total_of_many_is_one_quantity() -> None:
    assert quantity.total(["250m", "0.25", "1500m"]) == "2"
    assert quantity.total([]) == "0"


@pytest.mark.parametrize(
    ("left", "right", "expected"), [("1", "1000m", 0), ("1Gi", "1G", 1), ("1M", "1Mi", -1), ("-1", "0", -1)]
)
def test_comparison_is_by_amount(left: str, right: str, expected: int) -> None:
    assert quantity.compare(left, right) == expected
    assert (quantity.parse(left) == quantity.parse(right)) is (expected == 0)


def test_amounts_are_exact_fractions_for_validators() -> None:
    assert quantity.parse_quantity("100m") == Fraction(1, 10)
    assert quantity.parse_quantity("1Ki") == 1024


@pytest.mark.parametrize(
    ("value", "canonical"),
    [(1, "1"), (1.5, "1500m"), (0.1, "100m"), (1e22, str(MAX)), (" 2Gi ", "2Gi"), (-3, "-3")],
)
def test_numbers_in_json_are_taken_literally(value: object, canonical: str) -> None:
    if canonical == str(MAX):
        assert quantity.from_json(value).value() == MAX
    else:
        assert str(quantity.from_json(value)) == canonical


@pytest.mark.parametrize("value", [True, None, [], {}, "", float("nan"), float("inf")])
def test_other_json_is_no_quantity(value: object) -> None:
    with pytest.raises(ValueError, match="quantities must match"):
        quantity.from_json(value)

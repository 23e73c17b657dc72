"""Instants, Go durations and kubectl's ages."""

from __future__ import annotations

import pytest

from fairlead.core.times import (
    format_duration,
    human_duration,
    microtime,
    parse_duration,
    parse_time,
    timestamp,
)

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY


@pytest.mark.parametrize(
    ("now", "second", "micro"),
    [
        (0.0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"),
        (1700000000.123457, "2023-11-14T22:13:20Z", "2023-11-14T22:13:20.123457Z"),
        (4.9999999, "1970-01-01T00:00:04Z", "1970-01-01T00:00:05.000000Z"),
        (1709164800.0, "2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z"),
        (-0.5, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.500000Z"),
        (-62135596800.0, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_instants_are_written_in_utc(now: float, second: str, micro: str) -> None:
    assert timestamp(now) == second
    assert microtime(now) == micro


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2023-11-14T22:13:20Z", 1700000000.0),
        ("2023-11-14T22:13:20.5Z", 1700000000.5),
        ("2023-11-14T22:13:20.123457Z", 1700000000.123457),
        ("2023-11-14T22:13:20.123456789Z", 1700000000.1234567),
        ("2023-11-15T00:13:20+02:00", 1700000000.0),
        ("2023-11-14T16:43:20-05:30", 1700000000.0),
    ],
)
def test_rfc_3339_instants_are_read(text: str, seconds: float) -> None:
    assert parse_time(text) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2023-11-14",
        "2023-11-14 22:13:20Z",
        "2023-11-14T22:13:20",
        "2023-13-14T22:13:20Z",
        "2023-02-29T22:13:20Z",
        "2023-11-14T24:00:00Z",
        "2023-11-14T22:60:20Z",
        "2023-11-14T22:13:60Z",
        "2023-11-14t22:13:20z",
        "2023-11-14T22:13:20+24:00",
        "2023-11-14T22:13:20+01:60",
        "2023-11-14T22:13:20+0100",
        "0000-01-01T00:00:00Z",
        "2023-11-14T22:13:20Z\n",
        "２023-11-14T22:13:20Z",
    ],
)
def test_other_instants_are_refused_with_the_text_and_the_layout(text: str) -> None:
    with pytest.raises(ValueError, match=r"^parsing time ") as caught:
        parse_time(text)
    assert '"2006-01-02T15:04:05Z07:00"' in str(caught.value)


def test_a_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(ValueError) as caught:
        parse_time("x" * 10_000)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "nanoseconds", "printed"),
    [
        ("0", 0, "0s"),
        ("-0", 0, "0s"),
        ("0s", 0, "0s"),
        ("5s", 5 * 10**9, "5s"),
        ("1h30m", 5400 * 10**9, "1h30m0s"),
        ("1.5h", 5400 * 10**9, "1h30m0s"),
        (".5s", 5 * 10**8, "500ms"),
        ("1.s", 10**9, "1s"),
        ("300ms", 3 * 10**8, "300ms"),
        ("1500ms", 15 * 10**8, "1.5s"),
        ("-1.5h", -5400 * 10**9, "-1h30m0s"),
        ("+5m", 300 * 10**9, "5m0s"),
        ("1ns", 1, "1ns"),
        ("1us", 1000, "1µs"),
        ("1µs", 1000, "1µs"),
        ("1μs", 1000, "1µs"),
        ("1100ns", 1100, "1.1µs"),
        ("2ms500us", 2_500_000, "2.5ms"),
        ("100h", 360_000 * 10**9, "100h0m0s"),
        ("1h0m0.000000001s", 3600 * 10**9 + 1, "1h0m0.000000001s"),
        ("0.0000000001s", 0, "0s"),
        ("30m1h", 5400 * 10**9, "1h30m0s"),
        ("9223372036854775807ns", 2**63 - 1, "2562047h47m16.854775807s"),
        ("-9223372036854775808ns", -(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_durations_are_read_and_printed_as_go_does(text: str, nanoseconds: int, printed: str) -> None:
    assert parse_duration(text) == nanoseconds
    assert format_duration(nanoseconds) == printed
    assert parse_duration(printed) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("h", 'time: invalid duration "h"'),
        ("-", 'time: invalid duration "-"'),
        (".", 'time: invalid duration "."'),
        (".s", 'time: invalid duration ".s"'),
        ("1.2.3s", 'time: missing unit in duration "1.2.3s"'),
        ("10", 'time: missing unit in duration "10"'),
        ("1h5", 'time: missing unit in duration "1h5"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1hour", 'time: unknown unit "hour" in duration "1hour"'),
        ("1 h", 'time: unknown unit " h" in duration "1 h"'),
        ("--1s", 'time: invalid duration "--1s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("300000000h", 'time: invalid duration "300000000h"'),
    ],
)
def test_other_durations_are_refused_in_gos_words(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_duration(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "<invalid>"),
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-1, "0s"),
        (0, "0s"),
        (0.9, "0s"),
        (5, "5s"),
        (119, "119s"),
        (120, "2m"),
        (123, "2m3s"),
        (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE, "10m"),
        (10 * MINUTE + 59, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 20 * MINUTE, "3h20m"),
        (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3 * HOUR, "2d3h"),
        (7 * DAY + 23 * HOUR, "7d23h"),
        (8 * DAY + 23 * HOUR, "8d"),
        (10 * DAY, "10d"),
        (729 * DAY, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + 35 * DAY, "2y35d"),
        (7 * YEAR + 364 * DAY, "7y364d"),
        (8 * YEAR + 100 * DAY, "8y"),
    ],
)
def test_ages_lose_digits_as_they_grow(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text

"""The syntax of cron schedules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.cron import problem_with
from fairlead.model.time_zones import is_time_zone


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "? ? ? ? ?",
        "*/5 * * * *",
        "0 0,12 1 */2 *",
        "5 4 * * sun",
        "0 9-17 * * MON-FRI",
        "0 9-17/2 * jan,Jul *",
        "3/15 * * * *",
        "59 23 31 12 6",
        "  0   0 * * *  ",
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
        "@every 1h30m",
        "TZ=Europe/Paris 0 0 * * *",
        "CRON_TZ=UTC @daily",
    ],
)
def test_valid_schedules(schedule: str) -> None:
    assert problem_with(schedule) == ""


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("", "empty spec string"),
        ("   ", "expected exactly 5 fields, found 0: []"),
        ("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * 32 * *", "end of range (32) above maximum (31): 32"),
        ("* * * 13 *", "end of range (13) above maximum (12): 13"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("*/1/2 * * * *", "too many slashes: */1/2"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("jan * * * *", 'failed to parse int from jan: strconv.Atoi: parsing "jan": invalid syntax'),
        ("-1 * * * *", 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'),
        ("*/-1 * * * *", "negative number (-1) not allowed: -1"),
        ("@sometimes", "unrecognized descriptor: @sometimes"),
        ("@every", "unrecognized descriptor: @every"),
        ("@every day", 'failed to parse duration @every day: time: invalid duration "day"'),
        ("TZ=Nowhere/City 0 0 * * *", "provided bad location Nowhere/City: unknown time zone Nowhere/City"),
    ],
)
def test_wrong_schedules_say_what_is_wrong(schedule: str, problem: str) -> None:
    assert problem_with(schedule) == problem


@pytest.mark.parametrize(
    "schedule", ["9" * 10_000 + " * * * *", "* " * 10_000, "*/" + "1" * 9_000 + " * * * *"]
)
def test_enormous_input_is_judged_without_harm(schedule: str) -> None:
    assert isinstance(problem_with(schedule), str)


@given(st.text(max_size=40))
def test_any_text_gets_a_verdict(schedule: str) -> None:
    assert isinstance(problem_with(schedule), str)


numbers = st.tuples(
    st.integers(0, 59), st.integers(0, 23), st.integers(1, 31), st.integers(1, 12), st.integers(0, 6)
)


@given(numbers)
def test_every_moment_that_exists_is_accepted(fields: tuple[int, ...]) -> None:
    assert problem_with(" ".join(map(str, fields))) == ""


@pytest.mark.parametrize(
    "zone", ["UTC", "Etc/GMT+5", "America/Argentina/Buenos_Aires", "Asia/Kolkata", "EST5EDT"]
)
def test_known_zones(zone: str) -> None:
    assert is_time_zone(zone)


@pytest.mark.parametrize("zone", ["", "utc", "Europe", "Europe/berlin", "localtime", "posix/UTC"])
def test_unknown_zones(zone: str) -> None:
    assert not is_time_zone(zone)

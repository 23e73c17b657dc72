"""Schedules in time: when the next instant is due, which was the last, in which zone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.times import parse_time, timestamp
from fairlead.model.cron_times import (
    MISSED_MAX,
    civil_from_days,
    count_missed,
    latest_due,
    next_after,
    parse,
    weekday,
    zone_of,
)
from fairlead.model.files import time_zone_names
from fairlead.model.time_zones import offset_seconds


def upcoming(text: str, after: str, zone: str = "") -> str:
    found = next_after(parse(text, zone), parse_time(after))
    return "never" if found is None else timestamp(found)


@pytest.mark.parametrize(
    ("schedule", "after", "due"),
    [
        ("* * * * *", "2026-03-01T10:00:00Z", "2026-03-01T10:01:00Z"),
        ("* * * * *", "2026-03-01T10:00:59Z", "2026-03-01T10:01:00Z"),
        ("*/15 * * * *", "2026-03-01T10:07:00Z", "2026-03-01T10:15:00Z"),
        ("*/15 * * * *", "2026-03-01T10:45:00Z", "2026-03-01T11:00:00Z"),
        ("5/20 * * * *", "2026-03-01T10:30:00Z", "2026-03-01T10:45:00Z"),
        ("0 8-18/2 * * *", "2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z"),
        ("30 3 * * *", "2026-03-01T10:00:00Z", "2026-03-02T03:30:00Z"),
        ("0 0 * * mon-fri", "2026-02-27T10:00:00Z", "2026-03-02T00:00:00Z"),
        ("0 0 1 JAN ?", "2026-03-01T10:00:00Z", "2027-01-01T00:00:00Z"),
        ("0 0 29 2 *", "2026-03-01T10:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 30 2 *", "2026-03-01T10:00:00Z", "never"),
        # Both days restricted: the 13th, or a Friday.
        ("0 0 13 * 5", "2026-03-07T00:00:00Z", "2026-03-13T00:00:00Z"),
        ("0 0 15 * 5", "2026-03-13T00:00:00Z", "2026-03-15T00:00:00Z"),
        # A step is a restriction, a star is none.
        ("0 0 */2 * 1", "2026-03-03T00:00:00Z", "2026-03-05T00:00:00Z"),
        ("0 0 * * 1", "2026-03-03T00:00:00Z", "2026-03-09T00:00:00Z"),
        ("@hourly", "2026-03-01T10:07:00Z", "2026-03-01T11:00:00Z"),
        ("@daily", "2026-12-31T10:07:00Z", "2027-01-01T00:00:00Z"),
        ("@weekly", "2026-03-02T00:00:00Z", "2026-03-08T00:00:00Z"),
        ("@monthly", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"),
        ("@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("@every 90m", "2026-03-01T10:07:12Z", "2026-03-01T11:37:12Z"),
        ("CRON_TZ=Asia/Tokyo 0 9 * * *", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"),
    ],
)
def test_the_next_due_instant(schedule: str, after: str, due: str) -> None:
    assert upcoming(schedule, after) == due


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "due"),
    [
        ("0 9 * * *", "Europe/Berlin", "2026-01-10T10:00:00Z", "2026-01-11T08:00:00Z"),
        ("0 9 * * *", "Europe/Berlin", "2026-07-10T10:00:00Z", "2026-07-11T07:00:00Z"),
        ("0 9 * * *", "America/New_York", "2026-07-10T14:00:00Z", "2026-07-11T13:00:00Z"),
        ("0 9 * * *", "Australia/Sydney", "2026-01-10T00:00:00Z", "2026-01-10T22:00:00Z"),
        ("0 0 * * *", "Asia/Kolkata", "2026-01-10T00:00:00Z", "2026-01-10T18:30:00Z"),
        ("0 0 * * *", "Etc/GMT+5", "2026-01-10T06:00:00Z", "2026-01-11T05:00:00Z"),
        # 02:30 does not exist on the day the clocks go forward.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"),
        # 02:30 comes twice on the day they go back.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
        ("0 0 * * *", "America/New_York", "2026-03-08T06:00:00Z", "2026-03-09T04:00:00Z"),
        # Sunday is an hour short: Monday's midnight is not jumped over.
        ("0 0 * * 1", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
    ],
)
def test_the_next_due_instant_by_the_clocks_of_a_zone(schedule: str, zone: str, after: str, due: str) -> None:
    assert upcoming(schedule, after, zone) == due


@pytest.mark.parametrize(
    ("schedule", "after", "now", "last"),
    [
        ("*/10 * * * *", "2026-03-01T10:00:00Z", "2026-03-01T10:09:59Z", None),
        ("*/10 * * * *", "2026-03-01T10:00:00Z", "2026-03-01T10:10:00Z", "2026-03-01T10:10:00Z"),
        ("*/10 * * * *", "2026-03-01T10:00:00Z", "2026-03-01T10:35:07Z", "2026-03-01T10:30:00Z"),
        ("* * * * *", "2020-01-01T00:00:00Z", "2026-03-01T10:35:07Z", "2026-03-01T10:35:00Z"),
        ("* * 1 1 *", "2020-01-01T00:00:00Z", "2026-03-01T10:35:07Z", "2026-01-01T23:59:00Z"),
        ("@every 1h", "2026-03-01T10:00:00Z", "2026-03-01T12:30:00Z", "2026-03-01T12:00:00Z"),
        ("0 0 30 2 *", "2020-01-01T00:00:00Z", "2026-03-01T10:35:07Z", None),
    ],
)
def test_the_last_instant_that_was_due(schedule: str, after: str, now: str, last: str | None) -> None:
    found = latest_due(parse(schedule), parse_time(after), parse_time(now))
    assert found == (None if last is None else parse_time(last))


def test_missed_instants_are_counted_up_to_a_limit() -> None:
    every_minute = parse("* * * * *")
    assert count_missed(every_minute, 0.0, 59.0) == 0
    assert count_missed(every_minute, 0.0, 600.0) == 10
    assert count_missed(every_minute, 0.0, 1e9) == MISSED_MAX + 1


@given(after=st.integers(0, 2**31), span=st.integers(0, 400 * 60))
def test_the_last_due_instant_is_the_end_of_a_walk_over_all(after: int, span: int) -> None:
    schedule = parse("7-50/13 */3 * * *", "Europe/Paris")
    last, at = None, next_after(schedule, after)
    while at is not None and at <= after + span:
        last, at = at, next_after(schedule, at)
    assert latest_due(schedule, after, after + span) == last


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since the epoch of a date, counted in years that begin in March."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@given(day=st.integers(-700_000, 1_000_000))
def test_dates_and_days_since_the_epoch_are_each_others_inverse(day: int) -> None:
    year, month, of_month = civil_from_days(day)
    assert days_from_civil(year, month, of_month) == day
    if 1 <= year <= 9999:
        known = datetime(year, month, of_month, tzinfo=UTC)
        assert known.isoweekday() % 7 == weekday(day)
        assert int(known.timestamp()) == day * 86_400


@pytest.mark.parametrize(
    ("zone", "at", "hours"),
    [
        ("Europe/Berlin", "2026-03-29T00:59:59Z", 1),
        ("Europe/Berlin", "2026-03-29T01:00:00Z", 2),
        ("America/New_York", "2026-11-01T05:59:59Z", -4),
        ("America/New_York", "2026-11-01T06:00:00Z", -5),
        ("Australia/Lord_Howe", "2026-01-01T00:00:00Z", 11),
        ("Australia/Lord_Howe", "2026-07-01T00:00:00Z", 10.5),
        ("Africa/Cairo", "2026-07-01T00:00:00Z", 3),
        ("Africa/Cairo", "2026-01-01T00:00:00Z", 2),
        ("Asia/Jerusalem", "2026-07-01T00:00:00Z", 3),
        ("America/Santiago", "2026-07-01T00:00:00Z", -4),
        ("America/Santiago", "2026-01-01T00:00:00Z", -3),
        ("Europe/Sarajevo", "2026-07-01T00:00:00Z", 2),
        ("Atlantic/Azores", "2026-01-01T00:00:00Z", -1),
        ("America/Nuuk", "2026-01-01T00:00:00Z", -2),
        ("Etc/GMT+5", "2026-01-01T00:00:00Z", -5),
        ("", "2026-01-01T00:00:00Z", 0),
    ],
)
def test_a_zone_is_ahead_of_utc_by_the_rules_of_that_day(zone: str, at: str, hours: float) -> None:
    assert offset_seconds(zone, int(parse_time(at))) == hours * 3600


def test_every_zone_that_the_api_takes_can_be_run_in() -> None:
    names = time_zone_names()
    assert len(names) > 590
    for name in sorted(names):
        assert next_after(parse("0 9 * * *", name), parse_time("2026-06-01T00:00:00Z")) is not None, name


def test_the_zone_of_a_schedule_is_in_it_or_beside_it() -> None:
    assert zone_of("TZ=America/Nuuk * * * * *", "") == "America/Nuuk"
    assert zone_of("* * * * *", "Asia/Tokyo") == "Asia/Tokyo"

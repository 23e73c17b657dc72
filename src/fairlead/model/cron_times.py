"""When a CronJob's schedule is due: the next instant, the latest that has passed, how many were missed.

Called by the CronJob controller and by `freeze_times.py`; pure. A schedule was validated before (`cron.py`). An instant
is due when the clock of its zone shows a time that all fields allow: a time that summer time skips is not due that day,
one that the return from summer time repeats is due twice. If both the day of the month and of the week are restricted,
either will do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from fairlead.core.times import SECOND, parse_duration
from fairlead.model.time_zones import offset_seconds

#: bound: plane | missed times of a CronJob that are counted | too many
MISSED_MAX = 100
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
# A schedule that names no day within so many (the 30th of February) never is due.
_DAYS_MAX = 5 * 366 + 1
_SHORTHANDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_RANGES = ((0, 59, ()), (0, 23, ()), (1, 31, ()), (1, 12, _MONTHS), (0, 6, _DAYS))


class Schedule(NamedTuple):
    """What the fields allow. `every_seconds` is set for @every, which has no fields."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    any_day: bool = True  # the day of the month, or of the week, is left open: both must fit
    zone: str = ""
    every_seconds: int = 0


@lru_cache(maxsize=1024)
def parse(text: str, zone: str = "") -> Schedule:
    """A valid schedule, in a zone that is known."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        prefix, _, text = text.partition(" ")
        zone = zone or prefix.partition("=")[2]
        text = text.strip()
    if text.startswith("@every "):
        return Schedule(every_seconds=max(1, parse_duration(text.removeprefix("@every ")) // SECOND))
    fields = _SHORTHANDS.get(text, text).split()
    minutes, hours, days, months, weekdays = (
        _allowed(field, *limits) for field, limits in zip(fields, _RANGES, strict=True)
    )
    any_day = _is_open(fields[2]) or _is_open(fields[4])
    return Schedule(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=weekdays,
        any_day=any_day,
        zone="" if zone == "UTC" else zone,
    )


def zone_of(text: str, zone: str) -> str:
    """The zone a schedule is in, its own prefix included."""
    if zone or not text.startswith(("TZ=", "CRON_TZ=")):
        return zone
    return text.partition(" ")[0].partition("=")[2]


def _is_open(field: str) -> bool:
    return any(part in ("*", "?", "*/1", "?/1") for part in field.split(","))


def _allowed(field: str, low: int, high: int, names: tuple[str, ...]) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        if not part:
            continue
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        if first in ("*", "?"):
            start, end = low, high
        else:
            start = _number(first, names)
            end = _number(last, names) if dash else (high if step else start)
        found.update(range(start, end + 1, int(step or 1)))
    return frozenset(found)


def _number(text: str, names: tuple[str, ...]) -> int:
    return int(text) if text.lstrip("+").isdigit() else names.index(text.lower())


def next_after(schedule: Schedule, instant: float) -> int | None:
    """The first due instant later than this one; None if there is none for years."""
    if schedule.every_seconds:
        return int(instant // 1) + schedule.every_seconds
    at = int(instant // _MINUTE + 1) * _MINUTE
    limit = at + _DAYS_MAX * _DAY
    while at < limit:
        local = at + offset_seconds(schedule.zone, at)
        day, of_day = divmod(local, _DAY)
        hour, of_hour = divmod(of_day, _HOUR)
        if not _is_day(schedule, day):
            at += _to_midnight(of_day)
        elif hour not in schedule.hours:
            at += _HOUR - of_hour
        elif of_hour // _MINUTE not in schedule.minutes:
            at += _MINUTE
        else:
            return at
    return None


def _is_day(schedule: Schedule, day: int) -> bool:
    _, month, of_month = civil_from_days(day)
    if month not in schedule.months:
        return False
    by_month, by_week = of_month in schedule.days, weekday(day) in schedule.weekdays
    return by_month and by_week if schedule.any_day else by_month or by_week


def _to_midnight(of_day: int) -> int:
    """A step towards the next day that does not jump over its beginning, even when the clocks change before it."""
    left = _DAY - of_day
    return left - 2 * _HOUR if left > 3 * _HOUR else _HOUR - of_day % _HOUR


def latest_due(schedule: Schedule, after: float, now: float) -> int | None:
    """The last due instant that is later than `after` and not later than `now`."""
    first = next_after(schedule, after)
    if first is None or first > now:
        return None
    if schedule.every_seconds:
        return first + int(now - first) // schedule.every_seconds * schedule.every_seconds
    # The latest instant after which something is still due; whatever comes next after it is the last.
    low, high = first - 1, int(now // 1)
    while high - low > 1:
        middle = (low + high) // 2
        following = next_after(schedule, middle)
        if following is not None and following <= now:
            low = middle
        else:
            high = middle
    return next_after(schedule, low)


def count_missed(schedule: Schedule, after: float, now: float) -> int:
    """How many instants were due in between, counted up to one more than MISSED_MAX."""
    count = 0
    at = next_after(schedule, after)
    while at is not None and at <= now and count <= MISSED_MAX:
        count += 1
        at = next_after(schedule, at)
    return count


def weekday(day: int) -> int:
    """0 for Sunday. The epoch was a Thursday."""
    return (day + 4) % 7


def civil_from_days(days: int) -> tuple[int, int, int]:
    """The date, as (year, month, day), of a number of days since the epoch."""
    era, of_era = divmod(days + 719_468, 146_097)
    years = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return era * 400 + years + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1

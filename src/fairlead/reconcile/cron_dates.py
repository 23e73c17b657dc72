"""Dates as numbers of days since the epoch. Called by `cron_times.py`, which looks at many of them."""

from __future__ import annotations


def weekday(day: int) -> int:
    """0 for Sunday. The epoch was a Thursday."""
    return (day + 4) % 7


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since the epoch of a date, counted in years that begin in March."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """The date, as (year, month, day), of a number of days since the epoch."""
    era, of_era = divmod(days + 719_468, 146_097)
    years = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return era * 400 + years + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1

"""Times as people type them, for `--at` and `--since`: ages, clock times, dates, RFC 3339.

Local time if no zone is said.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from fairlead.core.errors import UsageError
from fairlead.core.times import parse_time

FORMS = '10m, 2h30m, 14:00, "yesterday 14:00", 2026-11-16, "2026-11-16 14:00" or RFC 3339'
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_AGE = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII)
_CLOCK = re.compile(
    r"(?:(\d{4}-\d{2}-\d{2}|today|yesterday)(?:[ t]|$))?(?:(\d{1,2}):(\d{2})(?::(\d{2}))?)?", re.ASCII
)


def parse_moment(option: str, text: str, now: float) -> float:
    """Seconds since the epoch; not later than now. A time of day alone is the last one that there was."""
    try:
        found = _moment(text.strip().lower(), now)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{option} {text!r} is no time: write {FORMS}") from None
    if found > now:
        raise UsageError(f"{option} {text!r} is yet to come: name a time in the past")
    return max(0.0, found)


def _moment(text: str, now: float) -> float:
    if text == "now":
        return now
    age = _AGE.fullmatch(text.removesuffix(" ago"))
    if age is not None and any(age.groups()):
        return now - sum(
            int(amount or 0) * size for amount, size in zip(age.groups(), _UNITS.values(), strict=True)
        )
    clock = _CLOCK.fullmatch(text)
    if clock is None or not any(clock.groups()):
        return parse_time(text.upper())
    day, hour, minute, second = clock.groups()
    here = datetime.fromtimestamp(now)
    if day == "yesterday" and hour is None:
        raise ValueError("which time of it is not said")
    date = here.date() if day in (None, "today") else here.date() - timedelta(days=1)
    if day not in (None, "today", "yesterday"):
        date = datetime.fromisoformat(day).date()
    told = datetime(date.year, date.month, date.day, int(hour or 0), int(minute or 0), int(second or 0))
    if day is None and told > here:
        told -= timedelta(days=1)
    return told.timestamp()

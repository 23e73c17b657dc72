"""Cron schedules as CronJobs write them: five fields, the @-shorthands, and what is wrong with a bad one.

Called by `kinds/cronjob.py`. Days of the week run from 0 (Sunday) to 6; names of months and days are accepted
in any case; `?` means `*`. A leading `TZ=` or `CRON_TZ=` is understood, as old objects may carry one, and
whether it is allowed is the caller's question. Pure; time zones come from the table in `time_zones.py`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fairlead.core.problems import show
from fairlead.core.times import parse_duration
from fairlead.model.time_zones import is_time_zone

_SHORTHANDS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_INTEGER = re.compile(r"[+-]?[0-9]+")


class _Range(NamedTuple):
    """What one field may hold."""

    low: int
    high: int
    names: dict[str, int]


_FIELDS = (
    _Range(0, 59, {}),
    _Range(0, 23, {}),
    _Range(1, 31, {}),
    _Range(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Range(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


class _ScheduleError(ValueError):
    """The first mistake found; its text is what the user reads."""


def problem_with(schedule: str) -> str:
    """What is wrong with a schedule; empty when it is right."""
    if not schedule:
        return "empty spec string"
    try:
        _check(schedule)
    except _ScheduleError as wrong:
        return str(wrong)
    return ""


def _check(schedule: str) -> None:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, _, schedule = schedule.partition(" ")
        name = zone.partition("=")[2]
        if not is_time_zone(name):
            raise _ScheduleError(f"provided bad location {name}: unknown time zone {name}")
        schedule = schedule.strip()
    if schedule.startswith("@"):
        _check_shorthand(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise _ScheduleError(
            f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]"
        )
    for text, allowed in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            if part:
                _check_part(part, allowed)


def _check_shorthand(schedule: str) -> None:
    if schedule in _SHORTHANDS:
        return
    if schedule.startswith("@every "):
        duration = schedule.removeprefix("@every ")
        try:
            parse_duration(duration)
        except ValueError as wrong:
            raise _ScheduleError(f"failed to parse duration {schedule}: {wrong}") from None
        return
    raise _ScheduleError(f"unrecognized descriptor: {schedule}")


def _check_part(part: str, allowed: _Range) -> None:
    """One member of a field's list: `*`, `5`, `1-5`, `*/10`, `8-18/2`, `mon-fri`."""
    span, *steps = part.split("/")
    low, *highs = span.split("-")
    if low in ("*", "?"):
        start, end = allowed.low, allowed.high
    else:
        if len(highs) > 1:
            raise _ScheduleError(f"too many hyphens: {part}")
        start = _number(low, allowed)
        if highs:
            end = _number(highs[0], allowed)
        else:
            end = allowed.high if steps else start
    if len(steps) > 1:
        raise _ScheduleError(f"too many slashes: {part}")
    step = _number(steps[0], _FIELDS[0]) if steps else 1
    if start < allowed.low:
        raise _ScheduleError(f"beginning of range ({start}) below minimum ({allowed.low}): {part}")
    if end > allowed.high:
        raise _ScheduleError(f"end of range ({end}) above maximum ({allowed.high}): {part}")
    if start > end:
        raise _ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {part}")
    if step == 0:
        raise _ScheduleError(f"step of range should be a positive number: {part}")


def _number(text: str, allowed: _Range) -> int:
    named = allowed.names.get(text.lower())
    if named is not None:
        return named
    if not _INTEGER.fullmatch(text):
        raise _ScheduleError(
            f"failed to parse int from {text}: strconv.Atoi: parsing {show(text)}: invalid syntax"
        )
    number = int(text[:20])
    if number < 0:
        raise _ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number

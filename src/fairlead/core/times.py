"""Instants and durations in Kubernetes' notations. The clock itself lives in `runtime/`.

Instants are seconds since the epoch as floats (what the clock gives); durations in Go's notation are integers
of nanoseconds (what Go keeps). Used by metadata stamping, validation, tables (AGE) and settings. Text that
cannot be read raises ValueError with Go's message, for the caller to put beside the field's path.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

SECOND = 10**9  # nanoseconds
_DURATION_MAX = 2**63 - 1

_RFC3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]{1,32}))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_UNITS = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "μs": 1000,
    "ms": 10**6,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}


@lru_cache(maxsize=4096)
def _stamp(second: int) -> str:
    # isoformat pads the year to four digits; strftime does not on every platform.
    return datetime.fromtimestamp(second, UTC).replace(tzinfo=None).isoformat() + "Z"


def timestamp(now: float) -> str:
    """metav1.Time: RFC 3339, whole seconds, UTC."""
    return _stamp(int(now // 1))


def microtime(now: float) -> str:
    """metav1.MicroTime: RFC 3339 with six digits, UTC."""
    second, micro = divmod(round(now * 1_000_000), 1_000_000)
    return f"{_stamp(second)[:-1]}.{micro:06d}Z"


@lru_cache(maxsize=4096)
def parse_time(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 instant, with or without a fraction."""
    parts = _RFC3339.fullmatch(text)
    if parts is None:
        raise ValueError(_time_wrong(text, "must look like 2006-01-02T15:04:05Z"))
    try:
        moment = datetime.fromisoformat(parts[1]).replace(tzinfo=UTC)
    except ValueError as error:
        raise ValueError(_time_wrong(text, str(error))) from None
    seconds = moment.timestamp()
    if parts[3]:
        hours, minutes = int(parts[4]), int(parts[5])
        if hours > 23 or minutes > 59:
            raise ValueError(_time_wrong(text, "time zone offset out of range"))
        offset = hours * 3600 + minutes * 60
        seconds += offset if parts[3] == "-" else -offset
    return seconds + float(f"0.{parts[2]}") if parts[2] else seconds


def time_or_zero(text: str | None) -> float:
    """Of what others wrote: nothing, and what is no instant, is 0."""
    try:
        return parse_time(text) if text else 0.0
    except ValueError:
        return 0.0


def _time_wrong(text: str, why: str) -> str:
    return f'parsing time {_quoted(text)} as "2006-01-02T15:04:05Z07:00": {why}'


def _quoted(text: str) -> str:
    shown = text if len(text) <= 64 else text[:64] + "..."
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


@lru_cache(maxsize=1024)
def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration: "1h30m", "300ms", "-1.5h", "0"."""
    if text in ("0", "+0", "-0"):
        return 0
    body = text[1:] if text[:1] in ("+", "-") else text
    if len(text) > 256 or not body or body[0] not in "0123456789.":
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    total, position = 0, 0
    while position < len(body):
        part = _DURATION_PART.match(body, position)
        if part is None or not (part[1] or part[2]):
            raise ValueError(f"time: invalid duration {_quoted(text)}")
        total += _duration_part(part[1], part[2] or "", part[3], text)
        position = part.end()
    # Go's range is one wider on the negative side.
    if total > _DURATION_MAX + text.startswith("-"):
        raise ValueError(f"time: invalid duration {_quoted(text)}")
    return -total if text.startswith("-") else total


def _duration_part(whole: str, fraction: str, unit: str, text: str) -> int:
    if not unit:
        raise ValueError(f"time: missing unit in duration {_quoted(text)}")
    size = _UNITS.get(unit)
    if size is None:
        raise ValueError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
    return int(whole or "0") * size + (int(fraction) * size // 10 ** len(fraction) if fraction else 0)


def format_duration(nanoseconds: int) -> str:
    """As Go prints a duration: "1h30m0s", "1.5s", "300ms", "0s"."""
    if nanoseconds == 0:
        return "0s"
    sign = "-" if nanoseconds < 0 else ""
    rest = abs(nanoseconds)
    if rest < SECOND:
        for unit, size in (("ns", 1), ("µs", 1000), ("ms", 10**6)):
            if rest < size * 1000:
                return f"{sign}{_decimal(rest, size)}{unit}"
    minutes, below = divmod(rest, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    seconds = _decimal(below, SECOND)
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}s"
    return f"{sign}{minutes}m{seconds}s" if minutes else f"{sign}{seconds}s"


def _decimal(amount: int, unit: int) -> str:
    whole, fraction = divmod(amount, unit)
    if not fraction:
        return str(whole)
    digits = len(str(unit)) - 1
    return f"{whole}.{fraction:0{digits}d}".rstrip("0")


def human_duration(seconds: float) -> str:
    """An age as kubectl's AGE column shows it: fewer digits the older it is."""
    total = int(seconds)
    # A clock one second ahead of another is no news.
    if total < 0:
        return "0s" if total == -1 else "<invalid>"
    if total < 120:
        return f"{total}s"
    minutes, second = divmod(total, 60)
    if minutes < 10:
        return _pair(minutes, "m", second, "s")
    if minutes < 180:
        return f"{minutes}m"
    hours, minute = divmod(minutes, 60)
    if hours < 8:
        return _pair(hours, "h", minute, "m")
    if hours < 48:
        return f"{hours}h"
    days, hour = divmod(hours, 24)
    if days < 8:
        return _pair(days, "d", hour, "h")
    if days < 2 * 365:
        return f"{days}d"
    years, day = divmod(days, 365)
    return _pair(years, "y", day, "d") if years < 8 else f"{years}y"


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"

"""When a freeze is in force: at an instant, and the next time after one. Pure.

Asked by `api/brakes/` for each write that a freeze could be about, and by `fairlead freezes` about the future: the same
function answers both. What it is given was validated (`kinds/changefreeze.py`).
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.core.times import SECOND, parse_duration, parse_time
from fairlead.model import cron_times
from fairlead.model.kind import Json


class FreezeWindow(NamedTuple):
    """From `start` on, up to and without `end`."""

    start: float
    end: float


def window_at(spec: Json, now: float) -> FreezeWindow | None:
    """The window that this instant is in; of several that overlap the one that ends last."""
    if not spec.get("schedule"):
        window = _fixed(spec)
        return window if window is not None and window.start <= now < window.end else None
    schedule, lasts = _recurring(spec)
    due = cron_times.latest_due(schedule, now - lasts, now)
    return FreezeWindow(float(due), due + lasts) if due is not None else None


def next_window(spec: Json, now: float) -> FreezeWindow | None:
    """The first window that begins after this instant."""
    if not spec.get("schedule"):
        window = _fixed(spec)
        return window if window is not None and window.start > now else None
    schedule, lasts = _recurring(spec)
    due = cron_times.next_after(schedule, now)
    return FreezeWindow(float(due), due + lasts) if due is not None else None


def _fixed(spec: Json) -> FreezeWindow | None:
    start, end = spec.get("start"), spec.get("end")
    return FreezeWindow(parse_time(start), parse_time(end)) if start and end else None


def _recurring(spec: Json) -> tuple[cron_times.Schedule, float]:
    schedule = cron_times.parse(spec["schedule"], spec.get("timeZone") or "")
    return schedule, parse_duration(spec["duration"]) / SECOND

"""Time zones by the rules of the IANA database, in the edition that the package `tzdata` pins.

The machine's own zone files are not asked: what is valid, and when a CronJob runs, must not depend on where a decision
is made or made again. Read by `cron.py`, `kinds/cronjob.py` and the CronJob controller; `files.py` reads the package.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fairlead.model.files import load_time_zone, time_zone_names

_NONE = timedelta(0)


def is_time_zone(name: str) -> bool:
    """Whether `name` is a zone of the database, links of old names included, in its exact spelling."""
    return name in time_zone_names()


def offset_seconds(zone: str, at: int) -> int:
    """How far the zone's clocks are ahead of UTC at this instant; "" is UTC."""
    if not zone:
        return 0
    found = datetime.fromtimestamp(at, UTC).astimezone(load_time_zone(zone)).utcoffset()
    return int((found or _NONE).total_seconds())

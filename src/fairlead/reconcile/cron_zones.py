"""Offsets from UTC of the time zones that CronJobs can run in, by the rules in force today, as data.

Nothing below `wire/` opens files, and a recorded decision must come out the same on any machine, so the system's zone
files are not asked. Known are UTC, the fixed `Etc/GMT...` zones, and the zones below with their summer time; a
CronJob in another zone is not run and says so. Past rules are not known: instants before 2007 may be off by an hour.
Called by `cron_times.py`.
"""

from __future__ import annotations

from functools import lru_cache

_DAY = 86_400
_HOUR = 3600

# (month, which Sunday: 1 first, 2 second, -1 last, hour) of begin and end. Hours are UTC in Europe, and elsewhere
# local standard time at the begin and local summer time at the end.
_RULES = {
    "eu": ((3, -1, 1), (10, -1, 1)),
    "us": ((3, 2, 2), (11, 1, 2)),
    "au": ((10, 1, 2), (4, 1, 3)),
    "nz": ((9, -1, 2), (4, 1, 3)),
}

# Offset in minutes and rule -> zones.
_ZONES = {
    (
        0,
        "",
    ): "UTC Etc/UTC Etc/UCT Etc/Zulu Etc/Universal Etc/Greenwich UCT Zulu Universal Greenwich GMT Etc/GMT "
    "Africa/Abidjan Africa/Accra Africa/Dakar Atlantic/Reykjavik Iceland",
    (0, "eu"): "Europe/London Europe/Dublin Europe/Lisbon GB Portugal WET",
    (
        60,
        "eu",
    ): "Europe/Amsterdam Europe/Berlin Europe/Brussels Europe/Budapest Europe/Copenhagen Europe/Madrid "
    "Europe/Oslo Europe/Paris Europe/Prague Europe/Rome Europe/Stockholm Europe/Vienna Europe/Warsaw Europe/Zurich "
    "Europe/Belgrade Europe/Bratislava Europe/Ljubljana Europe/Luxembourg Europe/Zagreb CET MET Poland",
    (60, ""): "Africa/Lagos Africa/Algiers Africa/Tunis",
    (
        120,
        "eu",
    ): "Europe/Athens Europe/Bucharest Europe/Helsinki Europe/Kyiv Europe/Kiev Europe/Riga Europe/Sofia "
    "Europe/Tallinn Europe/Vilnius EET",
    (120, ""): "Africa/Johannesburg Africa/Harare Europe/Kaliningrad Africa/Tripoli",
    (
        180,
        "",
    ): "Europe/Istanbul Europe/Moscow Europe/Minsk Africa/Nairobi Asia/Riyadh Asia/Baghdad Asia/Kuwait Turkey",
    (210, ""): "Asia/Tehran Iran",
    (240, ""): "Asia/Dubai Asia/Baku Asia/Tbilisi Asia/Yerevan",
    (300, ""): "Asia/Karachi Asia/Tashkent Asia/Yekaterinburg Asia/Almaty",
    (330, ""): "Asia/Kolkata Asia/Calcutta Asia/Colombo",
    (345, ""): "Asia/Kathmandu",
    (360, ""): "Asia/Dhaka",
    (420, ""): "Asia/Bangkok Asia/Jakarta Asia/Ho_Chi_Minh Asia/Saigon",
    (480, ""): "Asia/Shanghai Asia/Hong_Kong Asia/Singapore Asia/Taipei Asia/Manila Asia/Kuala_Lumpur "
    "Australia/Perth PRC Hongkong Singapore",
    (540, ""): "Asia/Tokyo Asia/Seoul Japan ROK",
    (570, "au"): "Australia/Adelaide",
    (570, ""): "Australia/Darwin",
    (600, "au"): "Australia/Sydney Australia/Melbourne Australia/Hobart Australia/Canberra",
    (600, ""): "Australia/Brisbane Pacific/Guam Asia/Vladivostok",
    (720, "nz"): "Pacific/Auckland NZ",
    (-120, ""): "America/Noronha",
    (-180, ""): "America/Sao_Paulo America/Argentina/Buenos_Aires America/Buenos_Aires America/Montevideo",
    (-210, "us"): "America/St_Johns",
    (-240, "us"): "America/Halifax",
    (-240, ""): "America/Caracas America/La_Paz America/Manaus America/Puerto_Rico",
    (-300, "us"): "America/New_York America/Toronto America/Detroit US/Eastern EST5EDT",
    (-300, ""): "America/Bogota America/Lima America/Panama America/Jamaica EST",
    (-360, "us"): "America/Chicago America/Winnipeg US/Central CST6CDT",
    (-360, ""): "America/Mexico_City America/Costa_Rica America/Guatemala America/Regina",
    (-420, "us"): "America/Denver America/Edmonton US/Mountain MST7MDT",
    (-420, ""): "America/Phoenix US/Arizona MST",
    (-480, "us"): "America/Los_Angeles America/Vancouver America/Tijuana US/Pacific PST8PDT",
    (-540, "us"): "America/Anchorage US/Alaska",
    (-600, ""): "Pacific/Honolulu US/Hawaii HST",
}
_BY_NAME = {name: zone for zone, names in _ZONES.items() for name in names.split()}
# As POSIX has it, the sign says how far UTC is ahead: Etc/GMT+5 is five hours behind.
_BY_NAME |= {f"Etc/GMT{hours:+d}": (-60 * hours, "") for hours in range(-14, 13) if hours}


def is_known(zone: str) -> bool:
    return not zone or zone in _BY_NAME


def offset_seconds(zone: str, at: int) -> int:
    """How far the zone's clocks are ahead of UTC at this instant; "" is UTC."""
    if not zone:
        return 0
    minutes, rule = _BY_NAME[zone]
    standard = minutes * 60
    if not rule:
        return standard
    begin, end = _summer(rule, standard, _year(at))
    is_summer = begin <= at < end if begin < end else not end <= at < begin
    return standard + _HOUR if is_summer else standard


@lru_cache(maxsize=256)
def _summer(rule: str, standard: int, year: int) -> tuple[int, int]:
    """The instants of a year at which summer time begins and ends."""
    (month, which, hour), (end_month, end_which, end_hour) = _RULES[rule]
    begin = _sunday(year, month, which) * _DAY + hour * _HOUR
    end = _sunday(year, end_month, end_which) * _DAY + end_hour * _HOUR
    if rule == "eu":
        return begin, end
    return begin - standard, end - standard - _HOUR


def _sunday(year: int, month: int, which: int) -> int:
    """The day, counted from the epoch, of a month's first, second or last Sunday."""
    if which < 0:
        last = days_from_civil(year + month // 12, month % 12 + 1, 1) - 1
        return last - weekday(last)
    first = days_from_civil(year, month, 1)
    return first + (-weekday(first)) % 7 + 7 * (which - 1)


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


def _year(at: int) -> int:
    return civil_from_days(at // _DAY)[0]

"""Reads the field tables that ship with the package, and the time zones of the package `tzdata`.

The only file of `model/` that touches the file system. It reads nothing but package data, each piece once.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from fairlead.model.fields import FieldTables
from fairlead.model.tables import parse_tables


@cache
def load_tables() -> FieldTables:
    """Every type of every built-in kind."""
    folder = files("fairlead.model") / "tbl"
    entries = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".tbl")), key=lambda e: e.name
    )
    return parse_tables((entry.name, entry.read_text(encoding="utf-8")) for entry in entries)


@cache
def time_zone_names() -> frozenset[str]:
    return frozenset((files("tzdata") / "zones").read_text(encoding="ascii").split())


@cache
def load_time_zone(name: str) -> ZoneInfo:
    """`name` must be one of `time_zone_names()`: there are no others to remember."""
    if name not in time_zone_names():
        raise KeyError(name)
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)

"""Reads the field tables that ship with the package. The only file of `model/` that touches the file system;
called once by whoever builds an API (runtime, tests). Reads nothing but package data.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

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

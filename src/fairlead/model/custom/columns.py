"""Printer columns of a custom kind, from the paths that its definition gives. Used by `kinds.py`."""

from __future__ import annotations

from typing import Any

from fairlead.core import codec
from fairlead.core.times import human_duration, parse_time
from fairlead.model.custom.jsonpath import JsonPath
from fairlead.model.custom.validating import number_text
from fairlead.model.kind import Cell, Column, Json

COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")


def column_of(given: Json) -> Column:
    path, kind = JsonPath(given.get("jsonPath") or ""), given.get("type") or "string"

    def cell(obj: Json, now: float) -> Cell:
        found, value = path.first(obj)
        return _shown(value, kind, now) if found else None

    return Column(
        name=given.get("name") or "",
        cell=cell,
        type=kind,
        format=given.get("format") or "",
        priority=given.get("priority") or 0,
        description=given.get("description")
        or f"Custom resource definition column (in JSONPath format): {given.get('jsonPath')}",
    )


def _shown(value: Any, kind: str, now: float) -> Cell:
    if kind == "string":
        return _text(value)
    if isinstance(value, bool):
        return value if kind == "boolean" else None
    if kind == "integer" and isinstance(value, (int, float)):
        return int(value)
    if kind == "number" and isinstance(value, (int, float)):
        return value if isinstance(value, int) else number_text(value)
    if kind == "date" and isinstance(value, str):
        try:
            return human_duration(now - parse_time(value))
        except ValueError:
            return "<invalid>"
    return None


def _text(value: Any) -> Cell:
    if value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return number_text(value)
    return codec.encode(value).decode()

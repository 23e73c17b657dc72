"""What is known of a value before there is one: its type, and of objects of custom kinds their fields."""

from __future__ import annotations

from collections.abc import Mapping


class Static:
    """A type by its name; `dyn` is anything. Subclasses know fields and elements (`model/custom/rules.py`)."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def field(self, name: str) -> Static | None:
        """None: there is no such field."""
        return DYN

    def element(self) -> Static:
        """Of a list; of a map, its values."""
        return DYN


class Fields(Static):
    """A value with these fields and no others."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Static]) -> None:
        super().__init__("map")
        self._fields = fields

    def field(self, name: str) -> Static | None:
        return self._fields.get(name)


DYN = Static("dyn")
BOOL = Static("bool")
INT = Static("int")
STRING = Static("string")
LIST = Static("list")
MAP = Static("map")
OPTIONAL = Static("optional_type")

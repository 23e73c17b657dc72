"""What is known of a value before there is one: its type, and of objects of custom kinds their fields."""

from __future__ import annotations

from collections.abc import Mapping

# Of a value that nothing bounds: no request is larger.
UNKNOWN_SIZE = 3 * 1024 * 1024 - 2
_WITHOUT_BOUND = frozenset({"dyn", "string", "bytes", "list", "map", "optional_type"})


class StaticType:
    """A type by its name; `dyn` is anything. Subclasses know fields and elements (`model/custom/rules.py`)."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def field(self, name: str) -> StaticType | None:
        """None: there is no such field."""
        return DYN

    def element(self) -> StaticType:
        """Of a list; of a map, its values."""
        return DYN

    @property
    def is_map(self) -> bool:
        """Whether it has entries of any name."""
        return False

    @property
    def size_max(self) -> int:
        """How many bytes, elements or entries it has at most."""
        return UNKNOWN_SIZE if self.name in _WITHOUT_BOUND else 1


class Fields(StaticType):
    """A value with these fields and no others."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, StaticType]) -> None:
        super().__init__("map")
        self._fields = fields

    def field(self, name: str) -> StaticType | None:
        return self._fields.get(name)


DYN = StaticType("dyn")
BOOL = StaticType("bool")
INT = StaticType("int")
STRING = StaticType("string")
LIST = StaticType("list")
MAP = StaticType("map")
OPTIONAL = StaticType("optional_type")

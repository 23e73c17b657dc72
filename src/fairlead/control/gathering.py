"""How long a change waits for others to come, where each look of a controller is at all of many objects. Pure."""

from __future__ import annotations

from collections.abc import Sized

# A look at all of many objects takes some microseconds of each: a small share of the time in between (seconds).
_FROM = 200
_SECONDS_EACH = 0.0002
_SECONDS_MAX = 2.0


class Gathering:
    def __init__(self, objects: Sized) -> None:
        self.objects = objects

    @property
    def seconds(self) -> float:
        """0 for few objects: those are looked at for each change."""
        many = len(self.objects)
        return min(_SECONDS_MAX, many * _SECONDS_EACH) if many >= _FROM else 0.0

"""A dictionary with a bound: what is remembered to save work, and may be forgotten at any time.

Used wherever answers are kept by what was asked and evicted by hand would be the alternative; a pure function of
hashable arguments has `functools.lru_cache`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(dict[K, V]):
    """At most `count_max`; the one that came first goes first. To keep those used last, `pop` and `keep` again."""

    __slots__ = ("count_max",)

    def __init__(self, count_max: int) -> None:
        super().__init__()
        self.count_max = count_max

    def keep(self, key: K, value: V) -> V:
        if len(self) >= self.count_max and key not in self:
            del self[next(iter(self))]
        self[key] = value
        return value


def keep_last(known: OrderedDict[K, V], key: K, value: V, count_max: int) -> None:
    """As the one used last; the one that was not used for longest goes if there are too many. The bound may change."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > count_max:
        known.popitem(last=False)

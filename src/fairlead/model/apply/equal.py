"""Whether two JSON values are the same. In Python true is 1, in JSON it is not.

The types of most fields leave no room for the difference; those of custom kinds, which may have values of no type, are
compared with this (`Rule.strict`).
"""

from __future__ import annotations

from typing import Any

_NUMBERS = (int, float)


def same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return kind in _NUMBERS and type(other) in _NUMBERS and bool(one == other)
    if kind is dict:
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if kind is list:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)

"""The order of a list after a strategic merge. Called by `strategic.py` only.

Items are spoken of by name: a keyed list's merge key values, a list of scalars' own values. Everything here
stays near linear in the lists' lengths, since a patch may bring lists of a hundred thousand items.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

Item = TypeVar("Item")


def places(names: Sequence[Hashable]) -> dict[Hashable, int]:
    """Where each name stands first."""
    found: dict[Hashable, int] = {}
    for position, name in enumerate(names):
        found.setdefault(name, position)
    return found


def out_of_order(patched: Sequence[Hashable], order: Sequence[Hashable]) -> Any:
    """The first patched name that is not in `order` or not in its order; None when all follow it."""
    remaining = iter(order)
    for name in patched:
        if not any(name == other for other in remaining):
            return name
    return None


def ordered(
    items: Sequence[Item], names: Sequence[Hashable], wanted: Sequence[Hashable], before: Sequence[Hashable]
) -> list[Item]:
    """The merged items in their final order.

    Wanted items keep the wanted order, the others keep the server's (`before`). Between the two, another item
    goes before a wanted one only if it stood before it on the server; so a new item comes first.
    """
    want, stood = places(wanted), places(before)
    patched = sorted((want[name], index) for index, name in enumerate(names) if name in want)
    others = [index for index, name in enumerate(names) if name not in want]
    result: list[Item] = []
    taken = 0
    for _, index in patched:
        place = stood.get(names[index], -1)
        while taken < len(others) and stood[names[others[taken]]] < place:
            result.append(items[others[taken]])
            taken += 1
        result.append(items[index])
    return result + [items[index] for index in others[taken:]]

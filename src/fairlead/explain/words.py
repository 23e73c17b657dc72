"""Amounts, selectors and lists of names as people read them. Used by everything here that writes sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.core.quantity import NANO, Quantity
from fairlead.model.selectors import NOTHING, LabelSelector, Requirement
from fairlead.schedule.facts import NodeTerm

_SHOWN = 3
_BYTES = ("memory", "ephemeral-storage")


def amount(resource: str, value: int) -> str:
    """`500m`, `2Gi`, `3`: a value of a column in the spelling of manifests."""
    if resource == "cpu":
        return str(Quantity(value * NANO // 1000))
    binary = resource in _BYTES or resource.startswith("hugepages-")
    return str(Quantity(value * NANO, "binary" if binary else "decimal"))


def some(names: Sequence[str]) -> str:
    """`a, b, c and 4 more`"""
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number} nodes"


def requirements(these: Iterable[Requirement]) -> str:
    return ",".join(map(str, these))


def selector(these: LabelSelector) -> str:
    if these is NOTHING:
        return "nothing (the selector is missing)"
    return requirements(these.requirements) or "every pod"


def term(each: NodeTerm) -> str:
    return requirements((*each.labels, *each.fields)) or "a term without conditions"

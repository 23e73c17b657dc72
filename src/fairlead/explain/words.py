"""Amounts, selectors and lists of names as people read them. Used by everything here that writes sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairlead.model.selectors import NOTHING, LabelSelector, Requirement
from fairlead.schedule.facts import NodeTerm

_SHOWN = 3
_BYTES = ("memory", "ephemeral-storage")
_MEBI, _GIBI = 2**20, 2**30


class Unit(NamedTuple):
    """`size`: so many of a column's own units. `sign` is what manifests write behind the number."""

    size: int
    sign: str

    def at_least(self, value: int) -> str:
        return f"{-(-value // self.size)}{self.sign}"

    def at_most(self, value: int) -> str:
        return f"{value // self.size}{self.sign}"


def unit_for(resource: str, *values: int) -> Unit:
    """One unit for all values that stand side by side: cores or thousandths of them, Gi or Mi. What is needed is
    rounded up in it and what there is down, so that less never looks like enough."""
    if resource == "cpu":
        return Unit(1000, "") if all(value % 1000 == 0 for value in values) else Unit(1, "m")
    if resource in _BYTES or resource.startswith("hugepages-"):
        return Unit(_GIBI, "Gi") if all(value % _GIBI == 0 for value in values) else Unit(_MEBI, "Mi")
    return Unit(1, "")


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

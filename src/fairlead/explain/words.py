"""Amounts, selectors and lists of names as people read them. Used by everything here that writes sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairlead.model.selectors import NOTHING, LabelMatcher, Requirement
from fairlead.schedule.facts import NodeTerm

_SHOWN = 3
_BYTES = ("memory", "ephemeral-storage")
_MEBI = 2**20


class Unit(NamedTuple):
    """`size`: so many of a column's own units; `sign` is what manifests write behind the number. Whole numbers of
    `larger`, so many of it with a sign of their own, are told in that, as Kubernetes does: `2`, not `2000m`."""

    size: int
    sign: str
    larger: tuple[int, str] = (0, "")

    def at_least(self, value: int) -> str:
        return self._told(-(-value // self.size))

    def at_most(self, value: int) -> str:
        return self._told(value // self.size)

    def _told(self, number: int) -> str:
        many, sign = self.larger
        if number and many and number % many == 0:
            return f"{number // many}{sign}"
        return f"{number}{self.sign}" if number else "0"


def unit_for(resource: str) -> Unit:
    """Thousandths of cores and Mi, or whole ones of either. What is needed is rounded up in it and what there is down,
    so that less never looks like enough."""
    if resource == "cpu":
        return Unit(1, "m", (1000, ""))
    if resource in _BYTES or resource.startswith("hugepages-"):
        return Unit(_MEBI, "Mi", (1024, "Gi"))
    return Unit(1, "")


def some(names: Sequence[str]) -> str:
    """`a, b, c and 4 more`"""
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def count_nodes(number: int) -> str:
    return "1 node" if number == 1 else f"{number} nodes"


def requirements(these: Iterable[Requirement]) -> str:
    return ",".join(map(str, these))


def selector(these: LabelMatcher) -> str:
    if these is NOTHING:
        return "nothing (the selector is missing)"
    return requirements(these.requirements) or "every pod"


def term(each: NodeTerm) -> str:
    return requirements((*each.labels, *each.fields)) or "a term without conditions"

"""Versions of one kind that have other fields than each other: what is owned in one of them, and what changes in it.

Entries of managedFields name fields as their version has them. Whoever writes in another version changes those fields
all the same; so the objects before and after are compared in the version of each entry. Used by `applying.py` and
`api/apply/managing.py`, and only for kinds with conversions (`model/kind.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fairlead.model.apply.rules import MergeRule
from fairlead.model.apply.sets import FieldSet
from fairlead.model.apply.trees import ABSENT, TreeDifference, compare, remove_fields

Convert = Callable[[Any], Any]


class Other(NamedTuple):
    """Another version than the one that is written in."""

    rule: MergeRule
    convert: Convert  # to it
    back: Convert  # from it


class Versions:
    """`others`: by apiVersion. A version that is not among them is unknown, and taken to have the same fields."""

    __slots__ = ("_others", "_rule")

    def __init__(self, rule: MergeRule, others: Mapping[str, Other]) -> None:
        self._rule = rule
        self._others = others

    def difference(self, api_version: str, before: Any, after: Any) -> TreeDifference | None:
        """How two objects of the version written differ as seen in `api_version`; None if that is the same version."""
        other = self._others.get(api_version)
        if other is None:
            return None
        return compare(other.rule, other.convert(before) if before else {}, other.convert(after))

    def fields(self, api_version: str, owned: FieldSet, tree: Any) -> FieldSet:
        """The fields owned in `api_version`, translated to the version that is written in: those that the object lacks
        once the owned ones are removed."""
        other = self._others.get(api_version)
        if other is None or not owned:
            return owned
        less = remove_fields(other.rule, other.convert(tree), owned)
        return compare(self._rule, other.back(less) if less is not ABSENT else {}, tree).changed

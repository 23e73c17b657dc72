"""Sets of owned fields from paths, for tests of `model/apply/sets.py`."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.model.apply.sets import MEMBER, FieldSet, Path, is_member, union


def of_paths(members: Iterable[Path]) -> FieldSet:
    found: FieldSet = {}
    for path in members:
        node: FieldSet = MEMBER
        for element in reversed(path):
            node = {element: node}
        found = union(found, node)
    return found


def has(fields: FieldSet, path: Path) -> bool:
    for element in path:
        below = fields.get(element)
        if below is None:
            return False
        fields = below
    return is_member(fields)

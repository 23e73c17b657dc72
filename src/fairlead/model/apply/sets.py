"""Sets of fields, in the very form of Kubernetes' fieldsV1, and the arithmetic of them.

A set is a tree of steps (`elements.py`). A step with nothing below it is a member; one with something below is a member
only if `.` is among that: `{"f:labels": {".": {}, "f:app": {}}}` has the labels and one label. Sets are shared and
never changed: every function here returns a new one, or a part of what it was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.core import codec
from fairlead.model.apply.elements import SELF, UndecodableError, check_element, element_text

FieldSet = dict[str, Any]  # of FieldSets
Path = tuple[str, ...]

NOTHING: FieldSet = {}
MEMBER: FieldSet = {}
_HERE: FieldSet = {SELF: MEMBER}
_DEPTH_MAX = 100


def is_member(node: FieldSet) -> bool:
    return not node or SELF in node


def decode_fields(fields: object, depth: int = 0) -> FieldSet:
    """From the wire. Raises UndecodableError."""
    if not isinstance(fields, dict):
        raise UndecodableError("fieldsV1: every step must hold an object")
    if depth > _DEPTH_MAX:
        raise UndecodableError(f"fieldsV1: at most {_DEPTH_MAX} levels are accepted")
    found: FieldSet = {}
    for element, below in fields.items():
        if element == SELF:
            if below not in ({}, None):
                raise UndecodableError("fieldsV1: there is nothing below a point")
            if depth:  # an object as a whole is nobody's
                found[SELF] = MEMBER
            continue
        check_element(element)
        found[element] = MEMBER if below is None else _plain(decode_fields(below, depth + 1))
    return found


def encode_fields(fields: FieldSet) -> FieldSet:
    """For the wire: in one order, whatever the order in which it was put together."""
    return {element: encode_fields(fields[element]) for element in sorted(fields)}


def fields_json(fields: FieldSet) -> bytes:
    """What `encode_fields` gives, as JSON."""
    return codec.encode_sorted(fields)


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    if not other or one is other:
        return one
    if not one:
        return other
    found = one.copy()
    for element, theirs in other.items():
        mine = found.get(element)
        found[element] = theirs if mine is None else _union(mine, theirs)
    return found


def _union(one: FieldSet, other: FieldSet) -> FieldSet:
    if one is other or (not one and not other):
        return one
    if not one:
        return other if SELF in other else {SELF: MEMBER, **other}
    if not other:
        return one if SELF in one else {SELF: MEMBER, **one}
    return union(one, other)


def minus(one: FieldSet, other: FieldSet) -> FieldSet:
    """What is in one and not in the other. Being below something that is taken away takes nothing away."""
    found: FieldSet | None = None
    for element in other.keys() & one.keys():
        mine, theirs = one[element], other[element]
        left = _minus(mine, theirs)
        if left is not mine:
            if found is None:
                found = one.copy()
            if left is None:
                del found[element]
            else:
                found[element] = left
    return one if found is None else found


def _minus(one: FieldSet, other: FieldSet) -> FieldSet | None:
    if not one:
        return None if is_member(other) else one
    if not other:
        if SELF not in one:
            return one
        return {element: below for element, below in one.items() if element != SELF} or None
    left = minus(one, other)
    return _plain(left) if left else None


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    found: FieldSet = {}
    for element, mine in one.items():
        theirs = other.get(element)
        if theirs is None:
            continue
        both = _intersection(mine, theirs)
        if both is not None:
            found[element] = both
    return found


def _intersection(one: FieldSet, other: FieldSet) -> FieldSet | None:
    member = is_member(one) and is_member(other)
    if not one or not other:
        return MEMBER if member else None
    below = intersection(one, other)
    if not below:
        return MEMBER if member else None
    return _plain(below)


def _plain(node: FieldSet) -> FieldSet:
    """A member with nothing below it has one spelling."""
    return MEMBER if node == _HERE else node


def paths(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """Every member, what is above before what is below."""
    for element in sorted(fields):
        below = fields[element]
        here = (*prefix, element)
        if is_member(below):
            yield here
        if below:
            yield from paths({step: node for step, node in below.items() if step != SELF}, here)


def path_text(path: Path) -> str:
    return "".join(map(element_text, path))

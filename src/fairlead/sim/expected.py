"""What a scenario says must be there at the end of every run: `unmet` tells the first line that is not so.

Called by `Runner.play` once a run has come to rest. Fields are named by their path in the object as controllers read it
(`status.readyReplicas`); a condition is named by its type, and its value is its status (`status.conditions.Ready`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from fairlead.model.key import Key
from fairlead.sim.checkers.contract import CommittedObjects
from fairlead.sim.scenario import Expected


def unmet(expected: Iterable[Expected], objects: CommittedObjects) -> str:
    """ "" if all is as it should be."""
    for each in expected:
        told = _one(each, objects) if each.number is None else _several(each, objects)
        if told:
            return told
    return ""


def _one(expected: Expected, objects: CommittedObjects) -> str:
    key = Key(expected.resource, expected.namespace, expected.name)
    view = objects.of(expected.resource).get(key)
    if view is None:
        return f"{_called(expected)} is not there"
    for path, value in expected.fields:
        found = field_at(view, path)
        if found != value:
            return f"{_called(expected)} has {path} {found!r} instead of {value!r}"
    return ""


def _several(expected: Expected, objects: CommittedObjects) -> str:
    found = sum(
        all(field_at(view, path) == value for path, value in expected.fields)
        for key, view in objects.of(expected.resource).items()
        if not expected.namespace or key.namespace == expected.namespace
    )
    if found == expected.number:
        return ""
    where = ", ".join(f"{path} {value!r}" for path, value in expected.fields)
    return f"there are {found} {expected.resource}{f' with {where}' if where else ''} instead of {expected.number}"


def field_at(view: msgspec.Struct, path: str) -> Any:
    """None where there is no such field."""
    found: Any = msgspec.to_builtins(view)
    for name in path.split("."):
        if isinstance(found, (list, tuple)):
            found = {each.get("type"): each.get("status") for each in found if isinstance(each, dict)}
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _called(expected: Expected) -> str:
    return f"{expected.resource} {'/'.join(filter(None, (expected.namespace, expected.name)))}"

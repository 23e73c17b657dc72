"""What a controller reads and writes, field by field: the words in which coupling is told.

A field is two levels of a path (`spec.replicas`, `status.phase`), with the key where entries of a map or list have
writers of their own: `metadata.annotations[fairlead.dev/operation]`, `status.conditions[Ready]`. `create` and
`delete` stand for an object's coming and going, `*` for any field, `heard` for when it was heard of last.

The table itself is `control/footprints.py`; `explain/coupling/` joins it with what was observed on a plane, whose
audit lines name fields by longer paths (`field_of`). `tests/sim/footprints.py` observes it anew, and a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from fairlead.model.diff import changed_fields

Json = dict[str, Any]

CREATE, DELETE, ANY, HEARD = "create", "delete", "*", "heard"
LIFE = frozenset({CREATE, DELETE})
READS, WRITES = "reads", "writes"
# Who an object is and which version it has: part of every write, and of no coupling that is not told by its other
# fields.
IDENTITY = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "metadata.resourceVersion",
        "metadata.generation",
        "metadata.creationTimestamp",
        "metadata.managedFields",
        "metadata.selfLink",
    }
)
# A deletion that waits for finalizers or a grace period has begun.
_DELETING = frozenset({"metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds"})
_KEYED = frozenset({"metadata.annotations", "status.conditions"})
_LEVELS = 2
_PART = re.compile(r'([^.\["]+)|\["((?:[^"\\]|\\.)*)"\]')
_ITEM = re.compile(r"\[\d+\]")
_PATHS_KEPT = 4096


class Footprint(NamedTuple):
    """Fields by resource."""

    reads: Mapping[str, frozenset[str]]
    writes: Mapping[str, frozenset[str]]


@lru_cache(maxsize=_PATHS_KEPT)
def field_of(path: str) -> str:
    """The field that a path of `model/diff.py` is part of. What it says of an item of a list it says of the list."""
    parts = [found[0] or found[1] for found in _PART.findall(_ITEM.split(path, maxsplit=1)[0])]
    field = ".".join(parts[:_LEVELS])
    return f"{field}[{parts[_LEVELS]}]" if len(parts) > _LEVELS and field in _KEYED else field


def written_fields(before: Json | None, after: Json | None) -> frozenset[str]:
    """What became of an object, in fields."""
    if before is None or after is None:
        return frozenset({CREATE if before is None else DELETE})
    found = changed_fields(_opened(before), _opened(after))
    return frozenset(DELETE if each in _DELETING else each for each in map(field_of, found)) - IDENTITY


def field_values(obj: Json, fields: Iterable[str]) -> dict[str, Any]:
    """What these fields of an object are; None where there is nothing."""
    opened = _opened(obj)
    found: dict[str, Any] = {}
    for field in fields:
        path, _, key = field.rstrip("]").partition("[")
        value: Any = opened
        for part in (*path.split("."), *((key,) if key else ())):
            value = value.get(part) if isinstance(value, dict) else None
        found[field] = value
    return found


def touches(written: str, read: str) -> bool:
    """Whether who reads the one may see another value because somebody wrote the other."""
    if written == read or ANY in (written, read) or written in LIFE:
        return True
    short, long = sorted((written, read), key=len)
    return long.startswith(short) and long[len(short)] in ".["


def parse_table(text: str) -> dict[str, Footprint]:
    """From lines `CONTROLLER reads|writes RESOURCE FIELD FIELD ...`, by controller; a line that is indented goes
    on."""
    found: dict[str, tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]] = {}
    controller = act = resource = ""
    for line in text.strip("\n").splitlines():
        words = line.split()
        if not line.startswith(" "):
            controller, act, resource, *words = words
        place = found.setdefault(controller, ({}, {}))[act == WRITES]
        place[resource] = place.get(resource, frozenset()) | frozenset(words)
    return {controller: Footprint(*acts) for controller, acts in found.items()}


def merged(these: Mapping[str, Footprint], those: Mapping[str, Footprint]) -> dict[str, Footprint]:
    found: dict[str, Footprint] = dict(these)
    for controller, more in those.items():
        known = found.get(controller, Footprint({}, {}))
        found[controller] = Footprint(_both(known.reads, more.reads), _both(known.writes, more.writes))
    return found


def _both(
    these: Mapping[str, frozenset[str]], those: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    return {each: these.get(each, frozenset()) | those.get(each, frozenset()) for each in {**these, **those}}


def _opened(obj: Json) -> Json:
    """With conditions by their type, so that one that moves up is not another; and with what may be absent, so that
    what comes first into it is told by its own name."""
    metadata, status = obj.get("metadata") or {}, obj.get("status") or {}
    conditions = status.get("conditions") or ()
    by_type = {each.get("type", ""): each for each in conditions if isinstance(each, dict)}
    return {
        **obj,
        "metadata": {**metadata, "annotations": metadata.get("annotations") or {}},
        "status": {**status, "conditions": by_type},
    }

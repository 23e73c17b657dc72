"""Which fields differ between two versions of an object: paths only, never values.

One diff per write serves generation, audit and events. Because only paths leave, a Secret's values cannot.
Added and removed subtrees are named by their top; lists are compared position by position. Numbers compare by
value, so 1 and 1.0 (and, as in Python, 1 and true, which no typed field can hold both of) are the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from fairlead.core.codec import field_path
from fairlead.model.kind import Json

#: bound: audit | changed fields named in one line | `...` stands for the rest
FIELDS_MAX = 64
MORE = "..."
_PATHS_KEPT = 2048


def changed_fields(old: Json, new: Json, limit: int = FIELDS_MAX) -> tuple[str, ...]:
    """Paths that differ, such as `spec.replicas` or `metadata.annotations["a.b/c"]`, in the fields' order.

    Past `limit` paths the rest is one last entry, "...".
    """
    if old is new or old == new:
        return ()
    found: list[str] = []
    _objects(old, new, "", found, limit)
    if len(found) > limit:
        found[limit:] = [MORE]
    return tuple(found)


# Writes of one kind change the same fields again and again.
_field_path = lru_cache(maxsize=_PATHS_KEPT)(field_path)


def _objects(old: Json, new: Json, path: str, found: list[str], limit: int) -> None:
    shared = 0
    for key, before in old.items():
        if key not in new:
            found.append(_field_path(path, key))
        else:
            shared += 1
            after = new[key]
            if before is after or before == after:
                continue
            _values(before, after, _field_path(path, key), found, limit)
        if len(found) > limit:
            return
    if shared == len(new):
        return
    for key in new:
        if key not in old:
            found.append(_field_path(path, key))
            if len(found) > limit:
                return


def _lists(old: list[Any], new: list[Any], path: str, found: list[str], limit: int) -> None:
    shared = min(len(old), len(new))
    for index in range(shared):
        before, after = old[index], new[index]
        if before is not after and before != after:
            _values(before, after, f"{path}[{index}]", found, limit)
            if len(found) > limit:
                return
    for index in range(shared, max(len(old), len(new))):
        found.append(f"{path}[{index}]")
        if len(found) > limit:
            return


def _values(before: Any, after: Any, path: str, found: list[str], limit: int) -> None:
    """Two values that are known to differ."""
    if type(before) is dict and type(after) is dict:
        _objects(before, after, path, found, limit)
    elif type(before) is list and type(after) is list:
        _lists(before, after, path, found, limit)
    else:
        found.append(path)

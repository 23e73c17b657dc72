"""Names of other tenants' pods, left out of an answer: how many there are, and what they are worth, stays.

`spaces` are the namespaces whose pods may be named; None: all. Used by `explaining.py` and `planning.py`, and by
`runtime/server/tenants.py` for lines of the logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]
Spaces = frozenset[str] | None
MASK = "*"


def is_seen(namespace: str, spaces: Spaces) -> bool:
    return spaces is None or namespace in spaces


def masked_victims(record: Json, spaces: Spaces) -> list[Json]:
    """The pods that an attempt's record says had to leave."""
    return [
        each
        if is_seen(each["key"][1], spaces)
        else {**each, "key": [each["key"][0], MASK, MASK], "uid": MASK}
        for each in record.get("victims") or ()
    ]


def masked_record(record: Json, spaces: Spaces) -> Json:
    if spaces is None or not record.get("victims"):
        return record
    masked = {**record, "victims": masked_victims(record, spaces)}
    return masked | {"about": masked_objects(record, spaces)} if "about" in record else masked


def masked_objects(record: Json, spaces: Spaces) -> list[str]:
    """What a record says that it touches, RESOURCE/NAMESPACE/NAME each; what is in no namespace is named to all who
    see the record."""
    parts = [(each, each.split("/")) for each in record.get("about") or ()]
    return [each if len(part) < 3 or is_seen(part[1], spaces) else MASK for each, part in parts]


def masked_names(names: Iterable[str], spaces: Spaces) -> tuple[str, ...]:
    """NAMESPACE/NAME each."""
    return tuple(each if is_seen(each.partition("/")[0], spaces) else f"{MASK}/{MASK}" for each in names)

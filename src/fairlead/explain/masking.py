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
    return {**record, "victims": masked_victims(record, spaces)} if record.get("victims") else record


def masked_names(names: Iterable[str], spaces: Spaces) -> tuple[str, ...]:
    """NAMESPACE/NAME each."""
    return tuple(each if is_seen(each.partition("/")[0], spaces) else f"{MASK}/{MASK}" for each in names)

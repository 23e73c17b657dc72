"""Which decision wrote a condition: found, not written into it (docs/adr/0034).

The audit line of each write names the decision that it carries out, and the store's history has the object before and
after it; so the newest write that made a condition what it is names its decision. Called by `debugging.py` with the
lines that it has of a workload; conditions that are older than these lines, or than history, have none.
"""

from __future__ import annotations

from typing import Any

from fairlead.explain.timeline.lines import AUDIT, Line
from fairlead.explain.timeline.writes import change_of, who_asked
from fairlead.store.contract import Reader

Json = dict[str, Any]
#: bound: plane | writes of an object that are looked at for who wrote its conditions | older ones are not named
WRITES_LOOKED_AT_MAX = 100
_WHAT = ("status", "reason", "message", "observedGeneration")


def conditions_told(reader: Reader, there: Json, lines: list[Line]) -> list[Json]:
    """Each condition of an object, with the decision that wrote it and by whom. `lines`: about it, the oldest first."""
    now = _conditions(there)
    writers: dict[str, Json] = {}
    writes = [each for each in lines if each.stream == AUDIT and each.revision and each.record["code"] < 300]
    for line in writes[: -WRITES_LOOKED_AT_MAX - 1 : -1]:
        open_ones = now.keys() - writers.keys()
        if not open_ones:
            break
        change = change_of(reader, line)
        if not change.is_known or change.new is None:
            break  # nothing older is known either
        before, after = _conditions(change.old or {}), _conditions(change.new)
        for kind in open_ones:
            if _said(after.get(kind)) == _said(now[kind]) != _said(before.get(kind)):
                writers[kind] = {
                    "decision": change.decision,
                    "by": who_asked(line.record),
                    "at": line.record["time"],
                }
    return [
        {"type": kind, **{field: each[field] for field in _WHAT if field in each}, **writers.get(kind, {})}
        for kind, each in now.items()
    ]


def _conditions(there: Json) -> dict[str, Json]:
    found = (there.get("status") or {}).get("conditions") or ()
    return {each["type"]: each for each in found if isinstance(each, dict) and "type" in each}


def _said(condition: Json | None) -> tuple[Any, ...] | None:
    return None if condition is None else tuple(condition.get(field) for field in _WHAT)

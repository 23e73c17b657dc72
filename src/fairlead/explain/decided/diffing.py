"""What differs between two decisions of one controller about one object: verdict, effects, and the inputs that changed.

Which of these made the difference is found by running the later one again (`replay/difference.py`). The scheduler is
shown everything that it reads: between two attempts all that changed of it is told, and what each filter left. Of
objects that are not in sight a tenant is told how many changed. Called by `answer.py`.
"""

from __future__ import annotations

from typing import Any

from fairlead.api.access.sight import Sight
from fairlead.control.attempts import SCHEDULER
from fairlead.core import codec
from fairlead.explain.asking import Asking
from fairlead.explain.decided.finding import Decided
from fairlead.explain.decided.inputs import cast_of, inputs_of
from fairlead.explain.sources import Sources
from fairlead.explain.timeline.moment import key_text
from fairlead.explain.timeline.values import told_changes, told_status
from fairlead.model.key import Key
from fairlead.replay.difference import (
    ChangedInput,
    DecisionDifference,
    Recorded,
    difference,
)
from fairlead.store.contract import Compacted

Json = dict[str, Any]
#: bound: plane | changed inputs that the difference between two attempts names | the others are counted
CHANGES_NAMED_MAX = 50
# What of a record is told as it stands.
TOLD = (
    "id", "time", "controller", "object", "uid", "generation", "verdict", "reason", "message", "effects", "about",
    "cause", "waited", "attempts", "inputs", "settings", "node", "nominated", "attempt", "refusals",
)  # fmt: skip
_ROOTS = ("spec", "metadata", "data", "endpoints")


def diff(sources: Sources, earlier: Decided, later: Decided, sight: Sight) -> Asking[Json]:
    told: Json = {
        "against": {name: earlier.record[name] for name in TOLD if name in earlier.record},
        "verdict": _flipped(earlier.record, later.record),
        "held": {"before": _held(earlier.record), "after": _held(later.record)},
        "effects": {
            "gone": _without(earlier.record, later.record),
            "new": _without(later.record, earlier.record),
        },
    }
    if later.controller == SCHEDULER:
        told["filters"] = _filters(earlier.record, later.record)
        return told | (yield from _changes(sources, earlier, later, sight))
    one, other = (
        (yield from inputs_of(sources, earlier.record)),
        (yield from inputs_of(sources, later.record)),
    )
    if isinstance(one, str) or isinstance(other, str):
        return told | {"unread": one if isinstance(one, str) else other}
    cast = cast_of(sources)
    found: DecisionDifference = yield lambda: difference(
        cast, Recorded(earlier.record, one), Recorded(later.record, other)
    )
    shown, hidden = sight.shown(found.changed, lambda each: each.key)
    return told | {
        "same": found.is_same,
        "byTime": found.by_time,
        "unread": found.unread,
        "inputs": [_input(each) for each in shown],
        "hidden": hidden,
    }


def _flipped(one: Json, other: Json) -> Json | None:
    names = ("verdict", "reason", "message", "node", "nominated")
    was, is_ = ({name: record.get(name, "") for name in names if name in record} for record in (one, other))
    return None if was == is_ else {"before": was, "after": is_}


def _held(record: Json) -> str:
    """By which refusal some of it was held back."""
    return str(record["held"]["refusal"]["message"]) if "held" in record else ""


def _without(one: Json, other: Json) -> list[str]:
    return [each for each in one.get("effects") or () if each not in (other.get("effects") or ())]


def _filters(one: Json, other: Json) -> list[Json]:
    """Of two attempts: what each filter left then and left later, where that differs."""
    was, is_ = (
        {each["plugin"]: each["left"] for each in record.get("waterfall") or ()} for record in (one, other)
    )
    return [
        {"filter": name, "before": was.get(name), "after": is_.get(name)}
        for name in dict.fromkeys((*was, *is_))
        if was.get(name) != is_.get(name)
    ]


def _changes(sources: Sources, earlier: Decided, later: Decided, sight: Sight) -> Asking[Json]:
    """The scheduler is shown everything that it reads: all that changed of it in between."""
    found: list[ChangedInput] = []
    try:
        for resource, (used, _) in sorted(later.record.get("reads", {}).items()):
            since = earlier.record.get("reads", {}).get(resource, (used,))[0]
            versions: dict[Key, ChangedInput] = {}
            for change in sources.reader.changes_after(since, resource, 1000) if used > since else ():
                if change.entry.revision <= used:
                    first = versions.get(change.entry.key)
                    before = first.before if first is not None else change.before
                    after = None if change.type == "DELETED" else change.entry
                    versions[change.entry.key] = ChangedInput(change.entry.key, before, after)
            found += versions.values()
            yield None
    except Compacted as error:
        return {"unread": str(error)}
    shown, hidden = sight.shown(found, lambda each: each.key)
    named = [_input(each) for each in shown[:CHANGES_NAMED_MAX]]
    return {"inputs": named, "hidden": hidden, "leftOut": max(0, len(shown) - CHANGES_NAMED_MAX)}


def _input(change: ChangedInput) -> Json:
    told: Json = {"object": key_text(change.key), "decisive": change.is_decisive}
    before = codec.decode(change.before.data) if change.before is not None else {}
    after = codec.decode(change.after.data) if change.after is not None else {}
    for name, entry in (("before", change.before), ("after", change.after)):
        told[name] = entry.revision if entry is not None else 0
    if change.before is None or change.after is None:
        told["what"] = "it came" if change.before is None else "it went"
        return told
    for each in (before, after):
        for quiet in ("managedFields", "resourceVersion", "generation"):
            each.get("metadata", {}).pop(quiet, None)
    parts = [told_changes(change.key.resource, before, after, *_ROOTS)]
    parts += [text for text, _ in told_status(before, after)] or [
        told_changes(change.key.resource, before, after, "status")
    ]
    told["what"] = "; ".join(filter(None, parts)) or "what nobody is told of"
    return told

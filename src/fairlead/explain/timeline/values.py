"""What a change was, in words: `replicas 5 -> 8`. Of two versions of an object, as history keeps them.

Of kinds with sensitive fields no value is told. Used by `writes.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from fairlead.model.catalog import CATALOG

Json = dict[str, Any]
_SHOWN, _TEXT_MAX = 4, 60
_ABSENT = object()
# What readers know from other lines, or that follows from others by itself.
_QUIET = frozenset(
    {
        "PodScheduled",
        "Initialized",
        "ContainersReady",
        "PodReadyToStartContainers",
        "ReplicaFailure",
        "fairlead.dev/WaitingFor",
    }
)
_BY_STATUS = "Progressing"  # its reasons follow each other in every rollout


class ChangedField(NamedTuple):
    path: str
    before: Any
    after: Any


def told_changes(resource: str, old: Json, new: Json, *roots: str) -> str:
    """Of the spec, or of other top-level fields; "" if nothing differs."""
    kind = CATALOG.of_resource(resource)
    hides = kind is not None and bool(kind.sensitive)
    texts = []
    for root in roots:
        for each in _walk(old.get(root, _ABSENT), new.get(root, _ABSENT), "" if root == "spec" else root):
            texts.append(
                each.path if hides else f"{each.path} {_short(each.before)} -> {_short(each.after)}".strip()
            )
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def told_status(old: Json, new: Json) -> Iterator[tuple[str, str]]:
    """(what, alike) of each change of a status that people ask for: phase, restarts, conditions."""
    before, after = old.get("status") or {}, new.get("status") or {}
    if before.get("phase") != after.get("phase") and after.get("phase") not in (None, "Pending"):
        yield f"is {after['phase']}", ""
    known = {each.get("name"): each for each in before.get("containerStatuses") or ()}
    for each in after.get("containerStatuses") or ():
        if each.get("restartCount", 0) > (known.get(each.get("name")) or {}).get("restartCount", 0):
            yield f"container {each['name']} is restarted, {each['restartCount']} times so far", each["name"]
    said = {each.get("type"): each for each in before.get("conditions") or ()}
    for each in after.get("conditions") or ():
        was = said.get(each.get("type")) or {}
        turned = was.get("status") != each.get("status")
        if each.get("type") in _QUIET or not (turned or was.get("reason") != each.get("reason")):
            continue
        if each.get("type") == _BY_STATUS and each.get("status") != "False" and was.get("status") != "False":
            continue
        if not was and each.get("status") == "Unknown":
            continue
        reason = f" {each['reason']}" if each.get("reason") else ""
        message = (
            f": {each['message']}" if each.get("message") and (each["status"] == "False" or reason) else ""
        )
        head = f"{each['type']}={each['status']}{reason}"
        yield f"{head}{message}", head
    for gone in said.keys() - {each.get("type") for each in after.get("conditions") or ()} - _QUIET:
        yield f"{gone} is taken back", f"{gone}-"


def _walk(before: Any, after: Any, path: str) -> Iterator[ChangedField]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in (*before, *(each for each in after if each not in before)):
            yield from _walk(
                before.get(name, _ABSENT), after.get(name, _ABSENT), f"{path}.{name}".lstrip(".")
            )
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _walk(one, other, f"{path}[{number}]")
    else:
        yield ChangedField(path, before, after)


def _short(value: Any) -> str:
    if value is _ABSENT:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _TEXT_MAX else f"{text[: _TEXT_MAX - 3]}..."

"""What a closed replay takes from a capture: the tape, the objects at its beginning, and later writes.

Used by `player.py`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.control.instructions import DELIVERIES
from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.replay.artifact import Artifact, RecordedChange
from fairlead.replay.capture import AUDIT
from fairlead.replay.tape import TapeItem, items_of
from fairlead.store.contract import DELETED, Entry

OWN = "system:fairlead:"  # users of planes begin so


def tape_of(artifact: Artifact) -> Iterator[TapeItem]:
    for line in artifact.lines:
        if line.stream == DELIVERIES:
            yield from items_of(bytes(line.body))


def beginning_of(artifact: Artifact, revision: int) -> tuple[dict[Key, Entry], list[RecordedChange]]:
    """The objects at that revision, and what was written after it."""
    objects = {
        Key(*each.key): Entry(Key(*each.key), each.uid, each.revision, bytes(each.value))
        for each in artifact.objects
        if each.revision <= revision
    }
    later: list[RecordedChange] = []
    for change in artifact.changes:
        key = Key(*change.key)
        if change.revision > revision:
            later.append(change)
        elif change.change_type == DELETED:
            objects.pop(key, None)
        else:
            objects[key] = Entry(key, change.uid, change.revision, bytes(change.value))
    return objects, later


def revisions_of_planes(artifact: Artifact) -> frozenset[int]:
    """Last revisions of what planes wrote, by the audit log."""
    found: set[int] = set()
    for line in artifact.lines:
        if line.stream == AUDIT:
            told = codec.decode(bytes(line.body))
            if told.get("revision") and str(told.get("user", "")).startswith(OWN) and "decision" in told:
                found.add(told["revision"])
    return frozenset(found)


def named(key: Key) -> str:
    return "/".join(filter(None, key))


def differing_field(recorded: bytes, again: bytes) -> tuple[str, str] | None:
    """The first field in which two objects differ, then and now; None if they are the same but for the order."""
    return _differing(codec.decode(recorded), codec.decode(again), "")


def _differing(one: Any, other: Any, path: str) -> tuple[str, str] | None:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in (*one, *(each for each in other if each not in one)):
            found = _differing(one.get(name), other.get(name), f"{path}.{name}" if path else name)
            if found is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            found = _differing(left, right, f"{path}[{index}]")
            if found is not None:
                return found
        return None
    return None if one == other else (f"{path}: {_brief(one)}", f"{path}: {_brief(other)}")


def _brief(value: Any) -> str:
    text = codec.encode(value).decode()
    return text if len(text) <= 120 else f"{text[:117]}..."

"""What a closed replay takes from a capture: the tape, the objects at its beginning, and later writes.

Used by `player.py`. Pure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

from fairlead.control.instructions import DECISIONS, DELIVERIES
from fairlead.control.leadership import FENCE, LEASE, NAMESPACE
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.model.key import Key
from fairlead.model.views import LEASES
from fairlead.replay.artifact import Artifact, RecordedChange
from fairlead.replay.capture import AUDIT
from fairlead.replay.tape import Sent, TapeItem, items_of
from fairlead.store.contract import DELETED, OPERATIONS_MAX, Entry

OWN = "system:fairlead:"  # users of planes begin so


def tape_of(artifact: Artifact) -> Iterator[TapeItem]:
    for line in artifact.lines:
        if line.stream == DELIVERIES:
            yield from items_of(bytes(line.body))


def flags_of(artifact: Artifact, identity: str, began: float) -> tuple[str, ...]:
    """What a plane that was started then ran, by the line that opened its first term; nothing if it never led."""
    for line in artifact.lines:
        if line.stream == DECISIONS and b'"term":' in bytes(line.body):
            told = codec.decode(bytes(line.body))
            if told.get("identity") == identity and parse_time(told["time"]) >= began:
                return tuple(told["flags"])
    return ()


def leader_of(artifact: Artifact) -> str:
    """Who led when the tape begins, by the first line that opens a term."""
    for line in artifact.lines:
        if line.stream == DECISIONS and b'"term":' in bytes(line.body):
            return str(codec.decode(bytes(line.body)).get("identity", ""))
    return ""


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


def revisions_of_planes(artifact: Artifact, tape: Iterable[TapeItem]) -> frozenset[int]:
    """What the planes of a tape wrote: the audit log has the last revision of each write, the tape the newest before
    it. Leases are not in the log; those of leadership are the plane's."""
    sent = [each for each in tape if isinstance(each, Sent)]
    users = frozenset(f"{OWN}{each.controller}" for each in sent)
    before = sorted({each.allotted for each in sent})
    leases = {each.revision: each.key for each in artifact.changes if each.key[0] == LEASES.name}
    found = {at for at, key in leases.items() if key[1] == NAMESPACE and key[2] in (LEASE, FENCE)}
    others = leases.keys() - found  # of what stands between the newest before a write and its last
    for line in artifact.lines:
        if line.stream == AUDIT:
            told = codec.decode(bytes(line.body))
            last = told.get("revision")
            if last and told.get("user") not in users:
                others.add(last)
            elif last:
                place = bisect_left(before, last)
                first = before[place - 1] + 1 if place else last
                found.update(range(max(first, last - OPERATIONS_MAX + 1), last + 1))
    return frozenset(found - others)


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

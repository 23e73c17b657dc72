"""What made room for a pod that had waited: the batch that placed it is run again without each change since the last
attempt that failed.

    what_made_room(resources, failed, placed) -> the changes that it depends on

All changes of a kind are undone together first: those of a kind without which it is placed all the same are no cause.
Called by `causes.py`; pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairlead.model.key import Key
from fairlead.model.views import PODS, Resource
from fairlead.replay.difference import ChangedInput, Inputs, MomentHistory
from fairlead.replay.past import HistoryMirrors, NotKept
from fairlead.replay.placement import place_again, policy_then
from fairlead.store.contract import Entry

Json = dict[str, Any]
#: bound: plane | changes of one kind that are undone one by one to find what made room for a pod |
#:        of more it is told how many there were
CHANGES_UNDONE_MAX = 16


class PlacedBatch(NamedTuple):
    """The record of the batch that placed the pod, what it read, and which of its attempts that was."""

    record: Json
    inputs: Inputs
    position: int


class MadeRoom(NamedTuple):
    """`together`: by kind, how many changes count of which none does alone. `unread`: why it cannot be told."""

    alone: tuple[ChangedInput, ...] = ()
    together: tuple[tuple[str, int], ...] = ()
    unread: str = ""


def what_made_room(resources: Mapping[str, Resource[Any]], failed: Inputs, placed: PlacedBatch) -> MadeRoom:
    """`failed`: what the last attempt before it read."""
    try:
        if not _is_placed(resources, placed, placed.inputs):
            return MadeRoom(unread="its placement does not come out as it was")
        return _found(resources, failed, placed)
    except NotKept as missing:
        return MadeRoom(unread=str(missing))


def _found(resources: Mapping[str, Resource[Any]], failed: Inputs, placed: PlacedBatch) -> MadeRoom:
    alone: list[ChangedInput] = []
    together: list[tuple[str, int]] = []
    tried = {Key(PODS.name, *text.rpartition("@")[0].split("/", 1)) for text in placed.record["pods"]}
    for resource in sorted(failed.keys() & placed.inputs.keys()):
        changes = _changes(failed[resource][1], placed.inputs[resource][1], tried)
        if not changes or _is_placed(resources, placed, _without(placed.inputs, resource, changes)):
            continue
        decisive = [
            each
            for each in changes[:CHANGES_UNDONE_MAX]
            if not _is_placed(resources, placed, _without(placed.inputs, resource, [each]))
        ]
        alone += decisive
        if not decisive:
            together.append((resource, len(changes)))
    return MadeRoom(tuple(alone), tuple(together))


def _is_placed(resources: Mapping[str, Resource[Any]], placed: PlacedBatch, inputs: Inputs) -> bool:
    record = placed.record
    then = HistoryMirrors(MomentHistory(placed.inputs), resources)
    policy = policy_then(then, record["reads"], tuple(record["policy"]))
    past = HistoryMirrors(MomentHistory(inputs), resources)
    return bool(place_again(past, record, policy)[placed.position].node)


def _changes(before: Sequence[Entry], after: Sequence[Entry], left: set[Key]) -> list[ChangedInput]:
    """The newest first; `left`: those that were placed themselves."""
    was, is_ = ({each.key: each for each in entries if each.key not in left} for entries in (before, after))
    found = [
        ChangedInput(key, was.get(key), is_.get(key))
        for key in sorted(was.keys() | is_.keys())
        if (old.revision if (old := was.get(key)) is not None else 0)
        != (new.revision if (new := is_.get(key)) is not None else 0)
    ]
    return sorted(found, key=lambda each: -(each.after or each.before).revision)  # type: ignore[union-attr]


def _without(inputs: Inputs, resource: str, changes: Sequence[ChangedInput]) -> Inputs:
    """As if these had not happened."""
    revision, entries = inputs[resource]
    undone = {each.key: each.before for each in changes}
    kept = [each for each in entries if each.key not in undone]
    kept += [each for each in undone.values() if each is not None]
    return {**inputs, resource: (revision, sorted(kept, key=lambda each: each.key))}

"""What happened in a change, told once: who heeds none of it is not asked for keys.

A Decider may declare `heeds`: for a resource that changes often, the facts without which its `keys` name nothing (0:
they never do). The same goes for its `adopters`, unless it declares `adopts` for them. The plane finds the facts of a
change and asks those who heed one of them; a resource that is not named is heeded whatever happened. A promise that is
too narrow loses wake-ups, so `tests/unit/reconcile/test_heeds.py` holds each against what the Decider says.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.marks import RELEASED
from fairlead.model.views import Meta, Pod, Stored, View

NEW = 1  # it was not there before
GONE = 2  # it is not there any more
OWNED = 4  # it names owners, or did
LEAVING = 8  # its deletion was asked for
RELABELLED = 16
ENDED = 32  # a pod that has finished, and had not before
PLACED = 64  # a pod on another node than before, or new and on one already
RELEASING = 128  # a pod whose release is ahead, done or taken back
ANY = 255
ALWAYS = -1  # heeded whatever happened, where for `keys` or `adopters` alone it is not

Heeds = tuple[tuple[str, int], ...]  # (resource, facts)


def facts_of(before: View | None, after: View | None) -> int:
    """Of an object that is held as it is stored anything may have happened."""
    newest: Any = after if after is not None else before
    if newest is None or isinstance(newest, Stored):
        return ANY
    meta: Meta = newest.metadata
    owned, leaving = bool(meta.owner_references), bool(meta.deletion_timestamp)
    facts = 0
    if after is None:
        facts = GONE
    elif before is None:
        facts = NEW
        if isinstance(newest, Pod) and newest.spec.node_name:
            facts = NEW | PLACED
    else:
        was: Any = before
        known: Meta = was.metadata
        owned |= bool(known.owner_references)
        leaving |= bool(known.deletion_timestamp)
        if known.labels != meta.labels:
            facts = RELABELLED
        if isinstance(was, Pod) and was.spec.node_name != newest.spec.node_name:
            facts |= PLACED
    if owned:
        facts |= OWNED
    if leaving:
        facts |= LEAVING
    if isinstance(after, Pod):
        if after.finished and not (isinstance(before, Pod) and before.finished):
            facts |= ENDED
        if _was_told(before) or _was_told(after):
            facts |= RELEASING
    return facts


def _was_told(pod: View | None) -> bool:
    return isinstance(pod, Pod) and any(each.type == RELEASED for each in pod.status.conditions)

"""Predicates of wakes: facts of a change as bits, found once per change, however many controllers watch the resource.

A `Wake` (`decider.py`) passes a change on if at least one of the facts in its `when` holds. `NEW`, `CHANGED` and `GONE`
exclude each other, and one of them always holds; the others come on top. `control/sources.py` looks up by these bits
which wakes a change may concern: each change of a pod is offered to about twenty controllers, and most concern few.

A predicate that is too narrow loses wake-ups: `tests/unit/reconcile/test_predicates.py` holds each against its mapping.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Any

from fairlead.model.marks import DISRUPTION_TARGET, RELEASED
from fairlead.model.reasons import LOST
from fairlead.model.views import Meta, Pod, Stored, View


class Predicate(IntFlag):
    NEW = 1  # it was not there before
    GONE = 2  # it is not there any more
    CHANGED = 4  # it was there and is
    OWNED = 8  # it names owners, or did
    LEAVING = 16  # its deletion was asked for
    RELABELLED = 32
    ENDED = 64  # a pod that has finished, and had not before
    PLACED = 128  # a pod on another node than before, or new and on one already
    RELEASING = 256  # a pod whose release is ahead, done or taken back
    DISRUPTED = 512  # a pod that is to be evicted, or was
    UNHEARD = 1024  # a pod of which a condition says that its node is silent, or did
    ADDRESSED = 2048  # a pod that has an address, or had


NEW, GONE, CHANGED = Predicate.NEW, Predicate.GONE, Predicate.CHANGED
OWNED, LEAVING, RELABELLED = Predicate.OWNED, Predicate.LEAVING, Predicate.RELABELLED
ENDED, PLACED, RELEASING = Predicate.ENDED, Predicate.PLACED, Predicate.RELEASING
DISRUPTED, UNHEARD, ADDRESSED = Predicate.DISRUPTED, Predicate.UNHEARD, Predicate.ADDRESSED
PRESENT = NEW | CHANGED
ANY = Predicate(4095)

# Plain numbers: operators of flags are slow, and this is done for each change of each object.
_NEW, _GONE, _CHANGED, _OWNED, _LEAVING = int(NEW), int(GONE), int(CHANGED), int(OWNED), int(LEAVING)
_RELABELLED, _ENDED, _PLACED = int(RELABELLED), int(ENDED), int(PLACED)
_UNHEARD, _ADDRESSED = int(UNHEARD), int(ADDRESSED)
_MARKED = {RELEASED: int(RELEASING), DISRUPTION_TARGET: int(DISRUPTED)}  # by the condition that tells it
_UNKNOWN = int(ANY & ~(PRESENT | GONE))


def facts_of(before: View | None, after: View | None) -> int:
    """The facts of a change. An object that is held as it is stored is not decoded for this: anything may have
    happened to it."""
    newest: Any = after if after is not None else before
    facts = _GONE if after is None else _NEW if before is None else _CHANGED
    if newest is None or isinstance(newest, Stored):
        return facts | _UNKNOWN
    meta: Meta = newest.metadata
    if meta.owner_references:
        facts |= _OWNED
    if meta.deletion_timestamp:
        facts |= _LEAVING
    if facts & _CHANGED:
        was: Any = before
        known: Meta = was.metadata
        if known.owner_references:
            facts |= _OWNED
        if known.deletion_timestamp:
            facts |= _LEAVING
        if known.labels != meta.labels:
            facts |= _RELABELLED
    if not isinstance(newest, Pod):
        return facts
    if newest.status.pod_ip:
        facts |= _ADDRESSED
    if after is None:
        return facts
    if not isinstance(before, Pod):
        if newest.spec.node_name:
            facts |= _PLACED
        if newest.finished:
            facts |= _ENDED
    else:
        if before.status.pod_ip:
            facts |= _ADDRESSED
        if before.spec.node_name != newest.spec.node_name:
            facts |= _PLACED
        if before.status.phase != newest.status.phase and newest.finished and not before.finished:
            facts |= _ENDED
        for each in before.status.conditions:
            if each.type in _MARKED:
                facts |= _MARKED[each.type]
            if each.reason == LOST:
                facts |= _UNHEARD
    for each in newest.status.conditions:
        if each.type in _MARKED:
            facts |= _MARKED[each.type]
        if each.reason == LOST:
            facts |= _UNHEARD
    return facts

"""Two decisions of one controller about one object: which inputs changed in between, and which change decided.

    difference(cast, one, other) -> DecisionDifference

Each is given as its record and its inputs (`Inputs`: every resource it read, as it was at the revision it was read at).
Both are run again, and what they were shown is remembered: of all that changed on the plane only those objects count.
Then the later one is run once more for each of them, with that object as it had been, and once at the earlier instant:
where that comes to something else, the change was decisive. Pure; `explain/decided/` collects the inputs and tells it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairlead.decision.contract import Decision, Settled
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.replay.cast import Cast
from fairlead.replay.past import NotKept, ResourceHistory
from fairlead.replay.rerun import Rerun, Rerunner
from fairlead.store.contract import Entry

#: bound: plane | changed inputs of a decision that are tried one by one for having made the difference |
#:        of the others it is told that they changed
INPUTS_TRIED_MAX = 32

Inputs = Mapping[str, tuple[int, Sequence[Entry]]]  # by resource: the revision, and what there was


class ChangedInput(NamedTuple):
    """`is_decisive`: with this object as it had been, the later decision would have been another; None: not tried."""

    key: Key
    before: Entry | None
    after: Entry | None
    is_decisive: bool | None = None


class DecisionDifference(NamedTuple):
    """`is_same`: both come to the same, whatever changed. `by_time`: at the earlier instant the later one would have
    been another. `unread`: why this could not be told in full."""

    is_same: bool
    changed: tuple[ChangedInput, ...] = ()
    by_time: bool = False
    unread: str = ""


class MomentHistory:
    """Inputs as a History."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs

    def of(self, resource: str) -> ResourceHistory:
        if resource not in self._inputs:
            raise NotKept(f"nothing of {resource} is at hand")
        revision, entries = self._inputs[resource]
        return ResourceHistory(revision, tuple(entries), (), revision)


class Recorded(NamedTuple):
    line: Json
    inputs: Inputs


def difference(cast: Cast, one: Recorded, other: Recorded) -> DecisionDifference:
    """From `one`, the earlier, to `other`."""
    earlier = _run(cast, one)
    later = _run(cast, other)
    if isinstance(earlier, str) or isinstance(later, str):
        why = earlier if isinstance(earlier, str) else later
        return DecisionDifference(one.line.get("digest") == other.line.get("digest"), unread=str(why))
    is_same = shape_of(earlier.decision) == shape_of(later.decision)
    changed = _changed(one.inputs, other.inputs, earlier.seen | later.seen)
    if is_same:
        return DecisionDifference(True, changed)
    tried = tuple(
        each._replace(is_decisive=_is_decisive(cast, other, later, each))
        if place < INPUTS_TRIED_MAX
        else each
        for place, each in enumerate(changed)
    )
    at_then = Rerunner(MomentHistory(other.inputs), cast).run(other.line, at=one.line["time"])
    by_time = isinstance(at_then, Rerun) and shape_of(at_then.decision) != shape_of(later.decision)
    return DecisionDifference(False, tried, by_time)


def shape_of(decision: Decision | None) -> object:
    """What a decision is, but for revisions, times and counts in its words."""
    if decision is None:
        return None
    verdict = decision.verdict
    reason = "" if isinstance(verdict, Settled) else verdict.reason
    return type(verdict), reason, tuple((type(each), each.key) for each in decision.effects)


def _run(cast: Cast, recorded: Recorded) -> Rerun | str:
    found = Rerunner(MomentHistory(recorded.inputs), cast).run(recorded.line, traced=True)
    return found.why if isinstance(found, Rerun) and found.decision is None else found


def _changed(before: Inputs, after: Inputs, seen: frozenset[Key]) -> tuple[ChangedInput, ...]:
    """What changed last comes first; what was shown to neither is nobody's input, nor what one of them never asked."""
    found = []
    for resource in sorted({key.resource for key in seen} & before.keys() & after.keys()):
        then = {each.key: each for each in before[resource][1]}
        now = {each.key: each for each in after[resource][1]}
        for key in (each for each in seen if each.resource == resource):
            was, is_ = then.get(key), now.get(key)
            if (was.revision if was is not None else 0) != (is_.revision if is_ is not None else 0):
                found.append(ChangedInput(key, was, is_))
    return tuple(
        sorted(found, key=lambda each: (-(each.after.revision if each.after is not None else 0), each.key))
    )


def _is_decisive(cast: Cast, other: Recorded, later: Rerun, change: ChangedInput) -> bool | None:
    resource = change.key.resource
    if resource not in other.inputs:
        return None
    revision, entries = other.inputs[resource]
    kept = [each for each in entries if each.key != change.key]
    if change.before is not None:
        kept = sorted([*kept, change.before], key=lambda each: each.key)
    found = Rerunner(MomentHistory({**other.inputs, resource: (revision, kept)}), cast).run(other.line)
    if isinstance(found, str) or found.decision is None:
        return None
    return shape_of(found.decision) != shape_of(later.decision)

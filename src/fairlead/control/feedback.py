"""Finds loops between writers in what they committed and decided, and keeps the steps that prove it. Pure, bounded.

    oscillation       a field goes from A to B and back, again and again, and the one who undoes is another each time
    amplification     two fields grow by turns, each writer reacting to the other's: who writes the one reads the other
    invalid decision  a controller decides the same for an object again and again, and is refused or too late each time

Nothing here is a rate: a field that is written a thousand times by one writer is none of this (`write_loops.py`, which
asks this and keeps what it finds, counts that). What is counted follows: a status but for its conditions tells what
there is, goes up and down with it, and is not looked at; nor are times.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from fairlead.core.bounded_dict import BoundedDict, keep_last
from fairlead.decision.effects import OPERATION
from fairlead.decision.footprint import LIFE
from fairlead.model.key import Key

REPEAT, OSCILLATION, AMPLIFICATION, INVALID = "repeat", "oscillation", "amplification", "invalid decision"
#: bound: plane | fields whose last values are remembered to find oscillations | the oldest go
FIELDS_KEPT_MAX = 10_000
#: bound: plane | namespaces whose last rises are remembered to find amplification | the oldest go
SPACES_KEPT_MAX = 1_000
#: bound: plane | decisions remembered to find those that are refused again and again | the oldest go
DECISIONS_KEPT_MAX = 10_000
#: bound: plane | steps kept as the proof of a loop | the newest stay
PROOF_MAX = 16
_RISES_KEPT = 64
_FOLLOWS = "status."  # what is told of what there is
_CONDITIONS = "status.conditions"
# Of the write that a controller made last: who takes it off, as `kubectl rollout undo` does with all annotations of a
# Deployment, undoes nothing.
_MARK = f"metadata.annotations[{OPERATION}]"

Reads = Callable[[str, str, str], bool]  # whether a writer decides on this field of this resource
K = TypeVar("K")
V = TypeVar("V")


class FieldValue(msgspec.Struct, frozen=True, gc=False):
    """What a field became. `same`: equal where the values are, times left out; `shown`: for people; `number`: where it
    is one."""

    same: bytes
    shown: str = ""
    number: float | None = None


class Commit(msgspec.Struct, frozen=True):
    """A write as it was committed: the fields that it changed, with what they were and what they became."""

    seconds: float
    writer: str
    key: Key
    fields: Mapping[str, tuple[FieldValue, FieldValue]]
    decision: str = ""  # or the id of the request, where no controller of ours decided
    revision: int = 0


class ChainLink(msgspec.Struct, frozen=True, gc=False):
    """One link of a chain."""

    seconds: float
    writer: str
    field: str
    value: str
    decision: str
    revision: int = 0


class FoundLoop(msgspec.Struct, frozen=True):
    kind: str
    key: str  # of the object
    fields: tuple[str, ...]
    writers: tuple[str, ...]
    turns: int
    proof: tuple[ChainLink, ...]


class _Write(msgspec.Struct, frozen=True, gc=False):
    step: ChainLink
    same: bytes


class _Rise(msgspec.Struct, frozen=True, gc=False):
    key: Key
    step: ChainLink

    @property
    def node(self) -> tuple[str, Key, str]:
        return self.step.writer, self.key, self.step.field


class _Tried(msgspec.Struct):
    """Decisions of one controller on one object that came to nothing, all of them the same."""

    said: tuple[str, ...]
    steps: deque[ChainLink]
    times: int = 0
    open: str = ""  # the newest of them, while it has not come to nothing


class Feedback:
    """`turns_max`: returns of a field, or rises of each of two, that count as a loop; 0: none do. `invalid_max`: the
    same for decisions that come to nothing. `window_seconds`: within which all of it happens."""

    def __init__(self) -> None:
        self._written: OrderedDict[tuple[Key, str], deque[_Write]] = OrderedDict()
        self._rises: OrderedDict[str, deque[_Rise]] = OrderedDict()
        self._said: BoundedDict[str, tuple[str, str, tuple[str, ...]]] = BoundedDict(DECISIONS_KEPT_MAX)
        self._tried: OrderedDict[tuple[str, str], _Tried] = OrderedDict()

    def committed(
        self, commit: Commit, reads: Reads, turns_max: int, window_seconds: float
    ) -> list[FoundLoop]:
        """What this commit is the newest step of."""
        if not turns_max:
            return []
        found: list[FoundLoop] = []
        for field, (before, after) in commit.fields.items():
            if follows(field):
                continue
            step = ChainLink(
                commit.seconds, commit.writer, field, after.shown, commit.decision, commit.revision
            )
            since = commit.seconds - window_seconds
            found += self._oscillates(commit.key, step, before, after, turns_max, since)
            if before.number is not None and after.number is not None and after.number > before.number:
                found += self._amplifies(commit.key, step, reads, turns_max, since)
        return found

    def _oscillates(
        self, key: Key, step: ChainLink, before: FieldValue, after: FieldValue, turns_max: int, since: float
    ) -> list[FoundLoop]:
        writes = _of(self._written, (key, step.field), FIELDS_KEPT_MAX, PROOF_MAX)
        if not writes or writes[-1].same != before.same:  # what was before is not what we saw last
            writes.clear()
            writes.append(_Write(ChainLink(step.seconds, "", step.field, before.shown, ""), before.same))
        writes.append(_Write(step, after.same))
        turns = 0
        known = list(writes)
        for place in range(len(known) - 1, 1, -1):
            now, last, first = known[place], known[place - 1], known[place - 2]
            if now.same != first.same or now.step.writer == last.step.writer or now.step.seconds < since:
                break
            turns += 1
        if turns < turns_max:
            return []
        proof = tuple(each.step for each in known[-turns - 2 :])
        writers = tuple(sorted({each.writer for each in proof if each.writer}))
        return [FoundLoop(OSCILLATION, _text(key), (step.field,), writers, turns, proof)]

    def _amplifies(
        self, key: Key, step: ChainLink, reads: Reads, turns_max: int, since: float
    ) -> list[FoundLoop]:
        """Walks back over rises that two writers made by turns, each of what the other decides on."""
        rises = _of(self._rises, key.namespace, SPACES_KEPT_MAX, _RISES_KEPT)
        newest = _Rise(key, step)
        rises.append(newest)
        other = next(
            (
                each
                for each in reversed(rises)
                if each.step.writer != step.writer and _couples(newest, each, reads)
            ),
            None,
        )
        if other is None:
            return []
        chain: list[_Rise] = []
        for each in reversed(rises):
            if each.step.seconds < since or each.node not in (newest.node, other.node):
                continue
            if chain and chain[-1].node == each.node:
                break
            chain.append(each)
        turns = len(chain) // 2
        if turns < turns_max:
            return []
        proof = tuple(each.step for each in reversed(chain))[-PROOF_MAX:]
        fields = tuple(dict.fromkeys((step.field, other.step.field)))
        writers = tuple(sorted({step.writer, other.step.writer}))
        return [FoundLoop(AMPLIFICATION, _text(key), fields, writers, turns, proof)]

    def decided(self, decision: str, controller: str, key: str, said: tuple[str, ...]) -> None:
        """A decision was recorded. One that says something else ends what was the same, and so does one that follows
        on one of which nothing was heard: that one was carried out."""
        self._said.keep(decision, (controller, key, said))
        tried = self._tried.get((controller, key))
        if tried is None:
            return
        if tried.said != said or tried.open not in ("", decision):
            del self._tried[controller, key]
        else:
            tried.open = decision

    def came_to_nothing(
        self, decision: str, why: str, seconds: float, invalid_max: int, window_seconds: float
    ) -> list[FoundLoop]:
        """What was decided was refused, or came too late."""
        known = self._said.get(decision)
        if known is None or not invalid_max:
            return []
        controller, key, said = known
        tried = self._tried.get((controller, key))
        if tried is None or tried.said != said or tried.steps[-1].seconds < seconds - window_seconds:
            tried = self._tried[controller, key] = _Tried(said, deque(maxlen=PROOF_MAX))
            while len(self._tried) > DECISIONS_KEPT_MAX:
                self._tried.popitem(last=False)
        tried.open = ""
        tried.steps.append(ChainLink(seconds, controller, "", why, decision))
        tried.times += 1
        if tried.times < invalid_max:
            return []
        return [FoundLoop(INVALID, key, tuple(said), (controller,), tried.times, tuple(tried.steps))]


def follows(field: str) -> bool:
    """Whether it comes and goes with what there is, and so proves nothing of who writes it."""
    return (
        field in LIFE or field == _MARK or (field.startswith(_FOLLOWS) and not field.startswith(_CONDITIONS))
    )


def _couples(newest: _Rise, other: _Rise, reads: Reads) -> bool:
    """Whether each decides on what the other wrote. Of who is no controller of ours that is not known: they meet where
    both write the same."""
    if (newest.key, newest.step.field) == (other.key, other.step.field):
        return True
    first = reads(newest.step.writer, other.key.resource, other.step.field)
    return first and reads(other.step.writer, newest.key.resource, newest.step.field)


def _of(kept: OrderedDict[K, deque[V]], key: K, keys_max: int, length: int) -> deque[V]:
    found = kept.get(key)
    if found is None:
        found = deque(maxlen=length)
    keep_last(kept, key, found, keys_max)
    return found


def _text(key: Key) -> str:
    return "/".join(part for part in key if part)

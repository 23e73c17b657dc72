"""Finds loops: a controller that writes the same to the same object again and again, and writers that loop together.

Controllers write only what differs. One that writes the same thing often either undoes it itself (two answers by turns,
a time of writing in the status) or is undone by another. So contents are counted per controller and object within a
window, times left out of them; progress, which writes something else each time, is no loop, and a write made because
another object changed is not even counted (`controller.py`). Only objects that are written often have their contents
looked at, so that a usual write costs one count. What is found is reported once, kept for `fairlead queues` while it
lasts, and its key is slowed down by the queue (`queue/heat.py`). Pure; memory is bounded.

Loops in which several take part, or in which nothing is written, are found in commits and in records of decisions
(`feedback.py`), which whoever runs the plane tells of (`committed`, `recorded`); they are kept beside the others, with
the steps that prove them, and nobody is slowed down for them: which of two is wrong is for people to say.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec

from fairlead.control.feedback import (
    AMPLIFICATION,
    INVALID,
    OSCILLATION,
    REPEAT,
    ChainLink,
    Commit,
    Feedback,
    FieldValue,
    FoundLoop,
    Reads,
)
from fairlead.core import codec
from fairlead.core.times import timestamp
from fairlead.decision.effects import Change
from fairlead.model.key import Key

#: bound: plane | writes remembered to find loops | the oldest go
WRITES_KEPT_MAX = 10_000
#: bound: plane | write loops shown | the oldest go
LOOPS_KEPT_MAX = 100
#: bound: plane | contents remembered of one object | counted anew
CONTENTS_KEPT_MAX = 100
#: bound: plane | of a value in the proof of a loop | it is cut
SHOWN_MAX = 60
_TIME_LENGTH = len(timestamp(0.0))
_TO_NOTHING = ("refused", "conflict")
_OCCASION = re.compile(r"[@/]\d+$")


@dataclass(frozen=True, slots=True)
class WriteLoopSettings:
    """More than `repeats_max` writes of the same within the window are a loop. 0: none are. `turns_max` and
    `invalid_max` are those of `feedback.py`, within `turns_window_seconds`."""

    repeats_max: int = 20
    window_seconds: float = 60.0
    turns_max: int = 3
    invalid_max: int = 10
    turns_window_seconds: float = 600.0


class DecisionLine(msgspec.Struct, frozen=True, gc=False):
    """As much as is needed here of a line of the log of decisions (`record.py`)."""

    id: str = ""
    of: str = ""
    controller: str = ""
    object: str = ""
    verdict: str = ""
    effects: tuple[str, ...] = ()
    outcome: str = ""
    trouble: str = ""


class WriteLoop(msgspec.Struct, gc=False):
    """A loop that goes on, or did within the last window."""

    controller: str  # or several, by turns
    object: str
    part: str  # "status", or "" for the object itself
    fields: tuple[str, ...]  # what is written
    since: float
    last: float
    writes: int  # of the same, or turns
    kind: str = REPEAT
    writers: tuple[str, ...] = ()
    proof: tuple[ChainLink, ...] = ()  # the newest steps of several


class _Written(msgspec.Struct):
    """Writes of one controller to one object within a window. What they say is looked at when there are many."""

    since: float
    count: int = 0
    contents: dict[bytes, int] = {}


class WriteLoops:
    def __init__(self, settings: WriteLoopSettings | None = None) -> None:
        self.settings = settings or WriteLoopSettings()
        self.found = 0
        self.found_by = dict.fromkeys((REPEAT, OSCILLATION, AMPLIFICATION, INVALID), 0)  # the same, by kind
        self._written: OrderedDict[tuple[str, Key], _Written] = OrderedDict()  # oldest window first
        self._loops: OrderedDict[tuple[object, ...], WriteLoop] = OrderedDict()  # the one seen last is last
        self._feedback = Feedback()

    def apply(self, settings: WriteLoopSettings) -> None:
        self.settings = settings

    def wrote(self, controller: str, effect: Change, now: float) -> tuple[WriteLoop, bool] | None:
        """A write went through. The loop it is part of, if any, and whether that is news."""
        limit = self.settings.repeats_max
        if not limit:
            return None
        written = self._of((controller, effect.key), now)
        written.count += 1
        if written.count <= limit // 2:
            return None
        content = _digest(effect.subresource, effect.patch)
        times = written.contents.get(content, 0) + 1
        if times == 1 and len(written.contents) >= CONTENTS_KEPT_MAX:
            written.contents.clear()
        written.contents[content] = times
        self._forget_ended(now)
        mark = (controller, effect.key, content)
        loop = self._loops.get(mark)
        if loop is not None:
            loop.last = now
            loop.writes += 1
            self._loops.move_to_end(mark)
            return loop, False
        return (self._begin(mark, effect, times, written.since, now), True) if times > limit else None

    def committed(self, commit: Commit, reads: Reads) -> list[WriteLoop]:
        """A write of anybody. The loops that are news."""
        settings = self.settings
        found = self._feedback.committed(commit, reads, settings.turns_max, settings.turns_window_seconds)
        return self._kept(found, commit.seconds)

    def recorded(self, line: DecisionLine, now: float) -> list[WriteLoop]:
        """A line of the log of decisions. The loops that are news."""
        if line.of:
            if line.outcome not in _TO_NOTHING:
                return []
            why, settings = line.trouble or line.outcome, self.settings
            found = self._feedback.came_to_nothing(
                line.of, why, now, settings.invalid_max, settings.turns_window_seconds
            )
            return self._kept(found, now)
        if line.effects and line.id:
            said = (line.verdict, *map(_without_occasion, line.effects))
            self._feedback.decided(line.id, line.controller, line.object, said)
        return []

    def _kept(self, found: list[FoundLoop], now: float) -> list[WriteLoop]:
        news: list[WriteLoop] = []
        for each in found:
            mark = (each.kind, each.key, each.fields, each.writers)
            loop = self._loops.get(mark)
            if loop is None:
                names, since = " and ".join(each.writers), each.proof[0].seconds
                loop = self._loops[mark] = WriteLoop(
                    names, each.key, "", each.fields, since=since, last=now, writes=0, kind=each.kind
                )
                loop.writers = each.writers
                self._count(each.kind)
                news.append(loop)
            loop.last, loop.writes, loop.proof = now, max(loop.writes + 1, each.turns), each.proof
            self._loops.move_to_end(mark)
        while len(self._loops) > LOOPS_KEPT_MAX:
            self._loops.popitem(last=False)
        return news

    def loops(self, now: float) -> tuple[WriteLoop, ...]:
        self._forget_ended(now)
        return tuple(self._loops.values())

    def _of(self, mark: tuple[str, Key], now: float) -> _Written:
        written = self._written.get(mark)
        if written is None or not 0 <= now - written.since < self.settings.window_seconds:
            written = self._written[mark] = _Written(now)
            self._written.move_to_end(mark)
            self._forget_old(now)
        return written

    def _forget_old(self, now: float) -> None:
        """Windows that are over, and the oldest if there are too many."""
        written = self._written
        while len(written) > 1:
            oldest = next(iter(written.values()))
            if len(written) <= WRITES_KEPT_MAX and 0 <= now - oldest.since < self.settings.window_seconds:
                return
            written.popitem(last=False)

    def _begin(
        self, mark: tuple[str, Key, bytes], effect: Change, times: int, since: float, now: float
    ) -> WriteLoop:
        name = "/".join(part for part in effect.key if part)
        fields = tuple(sorted(_leaves(effect.patch)))
        loop = WriteLoop(
            controller=mark[0],
            object=name,
            part=effect.subresource,
            fields=fields,
            since=since,
            last=now,
            writes=times,
        )
        self._count(REPEAT)
        self._loops[mark] = loop
        if len(self._loops) > LOOPS_KEPT_MAX:
            self._loops.popitem(last=False)
        return loop

    def _count(self, kind: str) -> None:
        self.found += 1
        self.found_by[kind] += 1

    def _forget_ended(self, now: float) -> None:
        settings = self.settings
        for mark, loop in list(self._loops.items()):
            window = settings.window_seconds if loop.kind == REPEAT else settings.turns_window_seconds
            if now - loop.last >= window:
                del self._loops[mark]


def describe_loop(loop: WriteLoop) -> str:
    """One line for people."""
    if loop.kind != REPEAT:
        return _describe_turns(loop)
    what = ", ".join(loop.fields) or "nothing"
    seconds = loop.last - loop.since
    return (
        f"{loop.controller} wrote the same to {loop.object} {loop.writes} times within {seconds:.0f} s ({what}): "
        "it undoes its own work, or another undoes it; it is slowed down"
    )


def _describe_turns(loop: WriteLoop) -> str:
    ids = ", ".join(step.decision for step in loop.proof if step.decision) or "none"
    fields = ", ".join(loop.fields)
    if loop.kind == INVALID:
        why = loop.proof[-1].value
        return f"{loop.controller} decided the same for {loop.object} {loop.writes} times, each time: {why}; {ids}"
    if loop.kind == OSCILLATION:
        values = " to ".join(step.value for step in loop.proof)
        return f"{loop.controller} undo each other's {fields} of {loop.object}, {loop.writes} times: {values}; {ids}"
    values = ", ".join(f"{step.field} {step.value}" for step in loop.proof)
    return f"{loop.controller} raise {fields} by turns, last of {loop.object}, {loop.writes} times: {values}; {ids}"


def value_of(value: Any, is_shown: bool = True) -> FieldValue:
    """What a field is, for `committed`. `is_shown`: not of a Secret."""
    same = blake2b(codec.encode(_timeless(value)), digest_size=12).digest()
    if not is_shown:
        return FieldValue(same, "...")
    shown = "nothing" if value is None else codec.encode(value).decode()
    shown = shown if len(shown) <= SHOWN_MAX else f"{shown[: SHOWN_MAX - 3]}..."
    return FieldValue(same, shown, _number(value))


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _without_occasion(effect: str) -> str:
    """An effect by its identity, without the version it was for: what is tried again is tried for a newer one."""
    return _OCCASION.sub("", effect)


def _digest(part: str, patch: dict[str, Any]) -> bytes:
    return blake2b(codec.encode((part, _timeless(patch))), digest_size=12).digest()


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_timeless(each) for each in value]
    return None if isinstance(value, str) and _is_time(value) else value


def _is_time(text: str) -> bool:
    """2026-01-31T12:00:00Z, with a fraction or without."""
    return len(text) >= _TIME_LENGTH and text[10] == "T" and text[-1] == "Z" and text[4] == text[7] == "-"


def _leaves(patch: dict[str, Any], above: str = "") -> list[str]:
    """The fields of a patch, two levels deep: enough to see what it is about."""
    found: list[str] = []
    for key, value in patch.items():
        if isinstance(value, dict) and value and not above:
            found += _leaves(value, f"{key}.")
        else:
            found.append(above + key)
    return found

"""Finds write loops: a controller that writes the same to the same object again and again.

Controllers write only what differs. One that writes the same thing often either undoes it itself (two answers by turns,
a time of writing in the status) or is undone by another. So contents are counted per controller and object within a
window, times left out of them; progress, which writes something else each time, is no loop, and a write made because
another object changed is not even counted (`controller.py`). Only objects that are written often have their contents
looked at, so that a usual write costs one count. What is found is reported once, kept for `fairlead queues` while it
lasts, and its key is slowed down by the queue (`queue/heat.py`). Pure; memory is bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec

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
_TIME_LENGTH = len(timestamp(0.0))


@dataclass(frozen=True, slots=True)
class WriteLoopSettings:
    """More than `repeats_max` writes of the same within the window are a loop. 0: none are."""

    repeats_max: int = 20
    window_seconds: float = 60.0


class WriteLoop(msgspec.Struct, gc=False):
    """A loop that goes on, or did within the last window."""

    controller: str
    object: str
    part: str  # "status", or "" for the object itself
    fields: tuple[str, ...]  # what is written
    since: float
    last: float
    writes: int  # of the same


class _Written(msgspec.Struct):
    """Writes of one controller to one object within a window. What they say is looked at when there are many."""

    since: float
    count: int = 0
    contents: dict[bytes, int] = {}


class WriteLoops:
    def __init__(self, settings: WriteLoopSettings | None = None) -> None:
        self.settings = settings or WriteLoopSettings()
        self.found = 0
        self._written: OrderedDict[tuple[str, Key], _Written] = OrderedDict()  # oldest window first
        self._loops: OrderedDict[tuple[str, Key, bytes], WriteLoop] = OrderedDict()

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
        self.found += 1
        self._loops[mark] = loop
        if len(self._loops) > LOOPS_KEPT_MAX:
            self._loops.popitem(last=False)
        return loop

    def _forget_ended(self, now: float) -> None:
        while self._loops:
            mark, loop = next(iter(self._loops.items()))
            if now - loop.last < self.settings.window_seconds:
                return
            del self._loops[mark]


def describe_loop(loop: WriteLoop) -> str:
    """One line for people."""
    what = ", ".join(loop.fields) or "nothing"
    seconds = loop.last - loop.since
    return (
        f"{loop.controller} wrote the same to {loop.object} {loop.writes} times within {seconds:.0f} s ({what}): "
        "it undoes its own work, or another undoes it; it is slowed down"
    )


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

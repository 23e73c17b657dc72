"""Where two trails part: the first step that differs, both sides of it, and what led there.

Two runs of one seed must have equal digests. When they do not, the digests tell nothing but that; the trails, a line
per step, are walked together. Called by `fairlead sim check` and tests. Reads lines as they come, so that trails may
be files of any length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

_BEFORE = 4
_HEAD, _AROUND = 80, 100  # characters shown of a long line: how it begins, and either side of the difference


@dataclass(frozen=True, slots=True)
class Divergence:
    step: int
    before: tuple[str, ...]  # the last steps that are equal
    one: str | None  # None: this trail has ended
    other: str | None

    def __str__(self) -> str:
        first = self.step - len(self.before)
        shown = [f"  {first + index}  {_clipped(line, 0)}" for index, line in enumerate(self.before)]
        at = _first_difference(self.one or "", self.other or "")
        for line in (self.one, self.other):
            shown.append(f"> {self.step}  {'(has ended)' if line is None else _clipped(line, at)}")
        return f"step {self.step} differs:\n" + "\n".join(shown)


def first_divergence(one: Iterable[str], other: Iterable[str]) -> Divergence | None:
    before: deque[str] = deque(maxlen=_BEFORE)
    for step, (left, right) in enumerate(zip_longest(one, other)):
        if left != right:
            return Divergence(step, tuple(before), left, right)
        before.append(left)
    return None


def _first_difference(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def _clipped(line: str, at: int) -> str:
    if at + _AROUND < _HEAD + 2 * _AROUND:
        return line if len(line) <= _HEAD + 2 * _AROUND else line[: _HEAD + 2 * _AROUND] + " ..."
    end = " ..." if len(line) > at + _AROUND else ""
    return f"{line[:_HEAD]} ... {line[at - _AROUND : at + _AROUND]}{end}"

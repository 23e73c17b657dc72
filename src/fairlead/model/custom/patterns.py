"""Regular expressions of schemas: RE2's syntax and its promise, a time that grows with the text and nothing else.

Python's `re` goes back and tries again; a pattern that many CRDs hold (`^(a([-a]*a)?)*$`) can keep it busy for hours.
So patterns are run as sets of states, one step per character, with the steps remembered. Used by `validating.py`. They
are read by `pattern_syntax.py` when a definition is made: that is when one that cannot be understood is refused, and
never when an object is.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakValueDictionary

from fairlead.model.custom.pattern_syntax import WORD, Machine

_STEPS_KEPT = 20_000
_STATES_KEPT = 200_000  # in all of the steps that are kept
_WORK_PER_STEP = 8  # characters read or states entered that count as one step of judging

Spend = Callable[[int], None]


class Pattern:
    """A compiled pattern. `matches` looks for it anywhere in the text, as RE2's MatchString does."""

    __slots__ = ("__weakref__", "_accept", "_edges", "_kept", "_start", "_steps", "_tests", "states", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        machine = Machine(text)
        self.states = machine.states
        self._kept = 0
        self._tests, self._edges = machine.tests, machine.edges
        self._start, self._accept = machine.start, machine.accept
        self._steps: dict[tuple[frozenset[int], str, str], frozenset[int] | None] = {}

    def matches(self, text: str, spend: Spend | None = None) -> bool:
        """`spend` is told what it costs while it goes on, and raises when that is too much."""
        states, before = frozenset((self._start,)), ""
        if spend is not None:
            spend(len(text) // _WORK_PER_STEP)
        for character in text:
            key = (states, before if before in ("", "\n") else "w" if before in WORD else "-", character)
            if key in self._steps:
                found = self._steps[key]
            else:
                found, entered = self._step(states, before, character)
                if spend is not None:
                    spend(entered // _WORK_PER_STEP)
                if len(self._steps) >= _STEPS_KEPT or self._kept > _STATES_KEPT:
                    self._steps.clear()
                    self._kept = 0
                self._steps[key] = found
                self._kept += len(states)
            if found is None:
                return True
            states, before = found, character
        return self._accept in self._closure(states, before, "")

    def _step(self, states: frozenset[int], before: str, character: str) -> tuple[frozenset[int] | None, int]:
        """Where this leads, and how many states were entered for it. None: it has matched already."""
        reached = self._closure(states, before, character)
        if self._accept in reached:
            return None, len(reached)
        tests = self._tests
        after = {self._start}  # a match may begin at every place
        for state in reached:
            test = tests.get(state)
            if test is not None and test[0](character):
                after.add(test[1])
        return frozenset(after), len(reached)

    def _closure(self, states: frozenset[int], before: str, after: str) -> set[int]:
        pending, reached = list(states), set(states)
        while pending:
            for condition, target in self._edges.get(pending.pop(), ()):
                if target not in reached and (condition is None or _holds(condition, before, after)):
                    reached.add(target)
                    pending.append(target)
        return reached


_compiled: WeakValueDictionary[str, Pattern] = WeakValueDictionary()


def compiled(text: str) -> Pattern:
    """The pattern, which is one for all who hold it: a schema says the same in many places. Raises PatternError."""
    found = _compiled.get(text)
    if found is None:
        found = _compiled[text] = Pattern(text)
    return found


def _holds(condition: str, before: str, after: str) -> bool:
    if condition == "A":
        return not before
    if condition == "z":
        return not after
    if condition == "^":
        return before in ("", "\n")
    if condition == "$":
        return after in ("", "\n")
    boundary = (before in WORD) is not (after in WORD)
    return boundary if condition == "b" else not boundary

"""Regular expressions of schemas, by RE2: the syntax that Kubernetes has, in a time that grows with the text alone.

Python's `re` goes back and tries again; a pattern that many CRDs hold (`^(a([-a]*a)?)*$`) can keep it busy for hours.
Used by `validating.py`. Patterns are compiled when a definition is made: that is when one that cannot be understood is
refused, and never when an object is.
"""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakValueDictionary

import re2

#: bound: objects | memory of a pattern | 422
PATTERN_BYTES_MAX = 2 * 1024 * 1024  # memory that one pattern may use, compiled and at work
# What counts as one step of judging: characters read, or at worst characters times states of the pattern.
_CHARACTERS_PER_STEP = 8
_WORK_PER_STEP = 500

Spend = Callable[[int], None]

_options = re2.Options()
_options.log_errors = False
_options.never_capture = True
_options.max_mem = PATTERN_BYTES_MAX


class PatternError(ValueError):
    """The pattern cannot be used; the message says why."""


class Pattern:
    """A compiled pattern. `matches` looks for it anywhere in the text."""

    __slots__ = ("__weakref__", "_search", "states", "text")

    def __init__(self, text: str) -> None:
        try:
            found = re2.compile(text, _options)
        except re2.error as error:
            (told,) = error.args
            raise PatternError(told.decode("utf-8", "replace")) from None
        self.text = text
        self.states: int = found.programsize
        self._search = found.search

    def matches(self, text: str, spend: Spend | None = None) -> bool:
        """`spend` is told what it costs, and raises when that is too much."""
        if spend is not None:
            spend(len(text) // _CHARACTERS_PER_STEP + len(text) * self.states // _WORK_PER_STEP)
        return self._search(text) is not None


_compiled: WeakValueDictionary[str, Pattern] = WeakValueDictionary()


def compile_pattern(text: str) -> Pattern:
    """The pattern, which is one for all who hold it: a schema says the same in many places. Raises PatternError."""
    found = _compiled.get(text)
    if found is None:
        found = _compiled[text] = Pattern(text)
    return found

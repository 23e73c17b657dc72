"""The syntax of patterns: reads RE2's and builds the machine that `patterns.py` runs.

A machine has states, tests of one character that lead from one to another, and edges that are free or hold at a place
(`^`, `\\b`). What cannot be understood raises PatternError.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

PATTERN_STATES_MAX = 10_000
PATTERN_REPEAT_MAX = 1_000

Test = Callable[[str], bool]

WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_DIGIT = frozenset("0123456789")
_SPACE = frozenset("\t\n\f\r ")
_CLASSES = {"d": _DIGIT, "w": WORD, "s": _SPACE}
_ESCAPES = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_PUNCT = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_POSIX = {
    "alpha": _LOWER | _UPPER,
    "digit": _DIGIT,
    "alnum": _LOWER | _UPPER | _DIGIT,
    "lower": _LOWER,
    "upper": _UPPER,
    "space": _SPACE | {"\v"},
    "blank": frozenset("\t "),
    "punct": _PUNCT,
    "word": WORD,
    "xdigit": frozenset("0123456789abcdefABCDEF"),
    "print": _LOWER | _UPPER | _DIGIT | _PUNCT | {" "},
    "graph": _LOWER | _UPPER | _DIGIT | _PUNCT,
    "cntrl": frozenset(map(chr, (*range(32), 127))),
    "ascii": frozenset(map(chr, range(128))),
}
_SCRIPTS = {"Latin": "LATIN", "Greek": "GREEK", "Cyrillic": "CYRILLIC", "Han": "CJK", "Hangul": "HANGUL"}


class PatternError(ValueError):
    """The pattern cannot be used; the message says why."""


class Machine:
    """Reads the pattern and builds its machine; a fragment is (first state, last state)."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.tests: dict[int, tuple[Test, int]] = {}
        self.edges: dict[int, list[tuple[str | None, int]]] = {}
        self.states = 0
        self.flags = frozenset[str]()
        self.start, self.accept = self._alternatives()
        if self.at < len(text):
            raise PatternError("unexpected ): " + text)

    def _state(self) -> int:
        self.states += 1
        if self.states > PATTERN_STATES_MAX:
            raise PatternError(f"expression is too large: it needs more than {PATTERN_STATES_MAX} states")
        return self.states

    def _edge(self, source: int, target: int, condition: str | None = None) -> None:
        self.edges.setdefault(source, []).append((condition, target))

    def _peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def _take(self, text: str) -> bool:
        found = self._peek(text)
        if found:
            self.at += len(text)
        return found

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise PatternError("it ends in the middle: " + self.text)
        self.at += 1
        return self.text[self.at - 1]

    def _alternatives(self) -> tuple[int, int]:
        flags = self.flags
        first, last = self._state(), self._state()
        while True:
            start, end = self._sequence()
            self._edge(first, start)
            self._edge(end, last)
            if not self._take("|"):
                self.flags = flags
                return first, last

    def _sequence(self) -> tuple[int, int]:
        start = end = self._state()
        while self.at < len(self.text) and not self._peek("|") and not self._peek(")"):
            begin = self.at
            first, last = self._atom()
            repeated = self._repeats(begin, first, last)
            self._edge(end, repeated[0])
            end = repeated[1]
        return start, end

    def _repeats(self, begin: int, first: int, last: int) -> tuple[int, int]:
        found = self._quantifier()
        if found is None:
            return first, last
        least, most = found
        after = self.at
        self._take("?")  # lazy or not makes no difference to whether it matches
        if self._quantifier() is not None:
            raise PatternError("invalid nested repetition operator: " + self.text[begin : self.at])
        after = self.at
        start = end = self._state()
        for _ in range(least):
            self._edge(end, first)
            end = last
            first, last = self._again(begin, after)
        if most is None:
            self._edge(end, first)
            self._edge(last, end)
            return start, end
        final = self._state()
        self._edge(end, final)
        for _ in range(most - least):
            self._edge(end, first)
            self._edge(last, final)
            end = last
            first, last = self._again(begin, after)
        return start, final

    def _again(self, begin: int, after: int) -> tuple[int, int]:
        """One more copy of the atom that stands at `begin`."""
        flags = self.flags
        self.at = begin
        copy = self._atom()
        self.at, self.flags = after, flags
        return copy

    def _quantifier(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        if not self._peek("{"):
            return None
        end = self.text.find("}", self.at)
        least, comma, most = self.text[self.at + 1 : max(end, self.at + 1)].partition(",")
        if end < 0 or not least.isdecimal() or (most and not most.isdecimal()):
            return None  # a brace that means itself
        self.at = end + 1
        low, high = int(least), int(most) if most else None if comma else int(least)
        if low > PATTERN_REPEAT_MAX or (high or 0) > PATTERN_REPEAT_MAX or (high is not None and high < low):
            raise PatternError("invalid repeat count: " + self.text[self.at - len(least) - 2 : self.at])
        return low, high

    def _atom(self) -> tuple[int, int]:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._one(self._set())
        if character == ".":
            return self._one((lambda c: True) if "s" in self.flags else (lambda c: c != "\n"))
        if character in "^$":
            lines = "m" in self.flags
            return self._assertion(character if lines else "A" if character == "^" else "z")
        if character in "*+?":
            raise PatternError("missing argument to repetition operator: " + character)
        if character == "\\":
            return self._escaped()
        return self._one(self._literal(character))

    def _one(self, test: Test) -> tuple[int, int]:
        first, last = self._state(), self._state()
        self.tests[first] = test, last
        return first, last

    def _assertion(self, condition: str) -> tuple[int, int]:
        first, last = self._state(), self._state()
        self._edge(first, last, condition)
        return first, last

    def _literal(self, character: str) -> Test:
        if "i" in self.flags:
            folded = character.casefold()
            return lambda c: c.casefold() == folded
        return lambda c: c == character

    def _group(self) -> tuple[int, int]:
        outer = self.flags
        if self._take("?"):
            if self._take("P<") or (self._peek("<") and not self._peek("<=") and not self._peek("<!")):
                end = self.text.find(">", self.at)
                if end < 0:
                    raise PatternError("invalid named capture: " + self.text[self.at :])
                self.at = end + 1
            elif not self._set_flags():
                return self._empty()  # flags for what follows
        fragment = self._alternatives()
        if not self._take(")"):
            raise PatternError("missing closing ): " + self.text)
        self.flags = outer
        return fragment

    def _empty(self) -> tuple[int, int]:
        state = self._state()
        return state, state

    def _set_flags(self) -> bool:
        """Whether a group follows; otherwise they hold from here on."""
        begin, on, flags = self.at, True, set(self.flags)
        while True:
            character = self._next()
            if character in "imsU":
                (flags.add if on else flags.discard)(character)
            elif character == "-" and on:
                on = False
            elif character in ":)":
                self.flags = frozenset(flags)
                return character == ":"
            else:
                raise PatternError("invalid or unsupported Perl syntax: (?" + self.text[begin : self.at])

    def _escaped(self) -> tuple[int, int]:
        character = self._next()
        if character in "AzbB":
            return self._assertion(character)
        if character == "Q":
            end = self.text.find("\\E", self.at)
            quoted = self.text[self.at :] if end < 0 else self.text[self.at : end]
            self.at = len(self.text) if end < 0 else end + 2
            start = last = self._state()
            for each in quoted:
                first, after = self._one(self._literal(each))
                self._edge(last, first)
                last = after
            return start, last
        return self._one(self._class_of(character) or self._literal(self._escape(character)))

    def _class_of(self, character: str) -> Test | None:
        if character in "dws":
            chosen = _CLASSES[character]
            return lambda c: c in chosen
        if character in "DWS":
            refused = _CLASSES[character.lower()]
            return lambda c: c not in refused
        if character in "pP":
            name = self._next()
            if name == "{":
                end = self.text.find("}", self.at)
                if end < 0:
                    raise PatternError("invalid character class range: \\p{" + self.text[self.at :])
                name, self.at = self.text[self.at : end], end + 1
            return _unicode_class(name, negated=character == "P")
        return None

    def _escape(self, character: str) -> str:
        if character in _ESCAPES:
            return _ESCAPES[character]
        if character == "x":
            if self._take("{"):
                digits, _, _ = self.text[self.at :].partition("}")
                self.at += len(digits) + 1
            else:
                digits = self._next() + self._next()
            try:
                return chr(int(digits, 16))
            except (ValueError, OverflowError):
                raise PatternError("invalid escape sequence: \\x" + digits) from None
        if character == "0" or (
            character in "1234567" and self.text[self.at : self.at + 1] in tuple("01234567")
        ):
            digits = character
            while len(digits) < 3 and self.text[self.at : self.at + 1] in tuple("01234567"):
                digits += self._next()
            return chr(int(digits, 8))
        if character.isalnum() and character.isascii():
            raise PatternError("invalid escape sequence: \\" + character)
        return character

    def _set(self) -> Test:
        negated = self._take("^")
        characters: set[str] = set()
        ranges: list[tuple[str, str]] = []
        tests: list[Test] = []
        first = True
        while first or not self._peek("]"):
            first = False
            if self._peek("[:"):
                tests.append(self._posix())
                continue
            low = self._next()
            if low == "\\":
                found = self._class_of(escaped := self._next())
                if found is not None:
                    tests.append(found)
                    continue
                low = self._escape(escaped)
            if self._peek("-") and not self._peek("-]"):
                self.at += 1
                high = self._next()
                if high == "\\":
                    high = self._escape(self._next())
                if high < low:
                    raise PatternError(f"invalid character class range: {low}-{high}")
                ranges.append((low, high))
            else:
                characters.add(low)
        self.at += 1
        return _set_test(characters, ranges, tests, negated, "i" in self.flags)

    def _posix(self) -> Test:
        end = self.text.find(":]", self.at)
        name = self.text[self.at + 2 : max(end, self.at + 2)]
        chosen = _POSIX.get(name.removeprefix("^"))
        if end < 0 or chosen is None:
            raise PatternError("invalid character class range: " + self.text[self.at :][:16])
        self.at = end + 2
        if name.startswith("^"):
            return lambda c: c not in chosen
        return lambda c: c in chosen


def _set_test(
    characters: set[str], ranges: list[tuple[str, str]], tests: list[Test], negated: bool, folds: bool
) -> Test:
    def plain(c: str) -> bool:
        return c in characters or any(low <= c <= high for low, high in ranges) or any(t(c) for t in tests)

    def found(c: str) -> bool:
        return plain(c) or (folds and (plain(c.lower()) or plain(c.upper())))

    return (lambda c: not found(c)) if negated else found


def _unicode_class(name: str, *, negated: bool) -> Test:
    if name.startswith("^"):
        name, negated = name[1:], not negated
    if name in _SCRIPTS:
        begins = _SCRIPTS[name]
        return lambda c: unicodedata.name(c, "").startswith(begins) is not negated
    if len(name) not in (1, 2) or name[:1] not in "CLMNPSZ":
        raise PatternError("invalid character class range: \\p{" + name + "}")
    return lambda c: unicodedata.category(c).startswith(name) is not negated

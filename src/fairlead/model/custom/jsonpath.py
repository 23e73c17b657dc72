"""JSON paths of printer columns, scale and selectable fields: the part of the language that they use.

    .spec.replicas   .metadata.annotations.example\\.com/name   .spec['a.b']   .status.addresses[0].ip   [*]
    .status.conditions[?(@.type=="Ready")].status

Used by `columns.py` and `kinds.py`; a path is read once, when its definition is made, and PathError says what is wrong
with one that cannot be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

#: bound: objects | steps of a JSON path | 422
PATH_STEPS_MAX = 32
_NAME = re.compile(r"\.((?:[^\s.\[\]\\'\"(){}?*@,]|\\.)+)")
_QUOTED = re.compile(r"\[\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\")\s*\]")
_INDEX = re.compile(r"\[\s*(-?[0-9]{1,9})\s*\]")
_ALL = re.compile(r"\[\s*\*\s*\]|\.\*")
_FILTER = re.compile(
    r"\[\?\(\s*@((?:\.(?:[^\s.\[\]\\'\"(){}?*@,=!<>]|\\.)+|\['[^']*'\])*)\s*"
    r"(?:(==|!=|<=|>=|<|>)\s*(?:'([^']*)'|\"([^\"]*)\"|(true|false|null|-?[0-9]+(?:\.[0-9]+)?)))?\s*\)\]"
)
_CONSTANTS = {"true": True, "false": False, "null": None}

PathStep = Callable[[Any], Iterator[Any]]


class PathError(ValueError):
    """The path cannot be read; the message says from where on."""


def simple_path(text: str) -> tuple[str, ...]:
    """The keys of a path that has nothing but names in it, as scale and selectable fields need it."""
    names, at = [], 0
    while at < len(text):
        found = _NAME.match(text, at)
        if found is None:
            raise PathError("must be a json path without array notation, and begin with a dot")
        names.append(_plain(found[1]))
        at = found.end()
    if not names:
        raise PathError("must be a json path that begins with a dot")
    return tuple(names)


class JsonPath:
    """A path that can be followed. `first` gives (True, value) for the first thing it leads to."""

    __slots__ = ("_steps",)

    def __init__(self, text: str) -> None:
        self._steps = _read(text)

    def first(self, value: Any) -> tuple[bool, Any]:
        for found in _follow(value, self._steps, 0):
            return True, found
        return False, None


def _follow(value: Any, steps: tuple[PathStep, ...], at: int) -> Iterator[Any]:
    if at == len(steps):
        yield value
        return
    for below in steps[at](value):
        yield from _follow(below, steps, at + 1)


def _read(text: str) -> tuple[PathStep, ...]:
    steps: list[PathStep] = []
    at = 0
    while at < len(text):
        for expression, make in _STEPS:
            found = expression.match(text, at)
            if found is not None:
                steps.append(make(found))
                at = found.end()
                break
        else:
            raise PathError(f"unrecognized characters in the path: {text[at : at + 32]!r}")
        if len(steps) > PATH_STEPS_MAX:
            raise PathError(f"a path may have at most {PATH_STEPS_MAX} steps")
    return tuple(steps)


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _key(name: str) -> PathStep:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _index(number: int) -> PathStep:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= number < len(value):
            yield value[number]

    return step


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _filter(found: re.Match[str]) -> PathStep:
    inner, operator = _read(found[1]), found[2]
    wanted: Any = found[3] if found[3] is not None else found[4]
    if wanted is None and found[5] is not None:
        literal = found[5]
        wanted = _CONSTANTS[literal] if literal in _CONSTANTS else float(literal)

    def holds(item: Any) -> bool:
        for value in _follow(item, inner, 0):
            return operator is None or _compares(value, operator, wanted)
        return False

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from (item for item in value if holds(item))

    return step


def _compares(value: Any, operator: str, wanted: Any) -> bool:
    if operator in ("==", "!="):
        equal = isinstance(value, bool) == isinstance(wanted, bool) and value == wanted
        return equal is (operator == "==")
    if type(value) is not type(wanted) and not (_is_number(value) and _is_number(wanted)):
        return False
    try:
        if operator[0] == "<":
            return bool(value < wanted or (operator == "<=" and value == wanted))
        return bool(value > wanted or (operator == ">=" and value == wanted))
    except TypeError:
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_STEPS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], PathStep]], ...] = (
    (_ALL, lambda found: _all),
    (_NAME, lambda found: _key(_plain(found[1]))),
    (_QUOTED, lambda found: _key(_plain(found[1] if found[1] is not None else found[2]))),
    (_INDEX, lambda found: _index(int(found[1]))),
    (_FILTER, _filter),
)

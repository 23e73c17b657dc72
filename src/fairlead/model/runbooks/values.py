"""What people give a run: parameters and answers, each a text that is read by its type.

Used when a Runbook is written (is the declaration right), when a run is created or answered (is the value), and when
expressions and templates need the value itself. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.core.problems import Problems
from fairlead.core.times import parse_duration
from fairlead.model.cel.static import BOOL, INT, STRING, Fields, StaticType
from fairlead.model.kind import Json

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_STATIC: Mapping[str, StaticType] = {"string": STRING, "integer": INT, "boolean": BOOL, "duration": STRING}
#: bound: objects | parameters of a runbook, or fields of a question | 422
FIELDS_MAX = 32
#: bound: objects | length of a value that a run is given | 422
VALUE_LENGTH_MAX = 1024


def type_of(field: Json) -> str:
    return str(field.get("type") or "string")


def scope_of(fields: Sequence[Json]) -> Fields:
    """What an expression may name of them."""
    return Fields({str(each.get("name")): _STATIC.get(type_of(each), STRING) for each in fields})


def read_value(field: Json, text: str) -> Any:
    """The value that a text stands for. ValueError says what is wrong with it."""
    kind, allowed = type_of(field), field.get("values") or ()
    if len(text) > VALUE_LENGTH_MAX:
        raise ValueError(f"may have {VALUE_LENGTH_MAX} characters at most")
    if allowed and text not in allowed:
        raise ValueError(f"must be one of {', '.join(allowed)}")
    if kind == "integer":
        if not _INTEGER.fullmatch(text):
            raise ValueError("must be a whole number, such as 3")
        return int(text)
    if kind == "boolean":
        if text not in ("true", "false"):
            raise ValueError("must be true or false")
        return text == "true"
    if kind == "duration" and parse_duration(text) <= 0:
        raise ValueError("must be longer than nothing, such as 30m")
    if kind == "string" and not text and "" not in allowed:
        raise ValueError("may not be empty")
    return text


def read_values(fields: Sequence[Json], given: Mapping[str, str]) -> dict[str, Any]:
    """All of them by name, of values that were judged before."""
    return {
        name: read_value(each, given.get(name, each.get("default") or ""))
        for each in fields
        if (name := str(each["name"])) in given or each.get("default") is not None
    }


def check_values(fields: Sequence[Json], given: Mapping[str, str], path: str, problems: Problems) -> None:
    """What is given against what is declared."""
    known = {str(each["name"]): each for each in fields}
    for name, text in given.items():
        if name not in known:
            there = ", ".join(known) or "none"
            problems.invalid(f"{path}.{name}", text, f"there is no such field; there are: {there}")
            continue
        try:
            read_value(known[name], text)
        except ValueError as error:
            problems.invalid(f"{path}.{name}", text, str(error))
    for name, each in known.items():
        if name not in given and each.get("default") is None:
            problems.required(f"{path}.{name}", str(each.get("description") or f"a {type_of(each)}"))


def check_fields(
    fields: Sequence[Json], path: str, problems: Problems, taken: frozenset[str] = frozenset()
) -> None:
    """A declaration of parameters or of a question's fields."""
    if len(fields) > FIELDS_MAX:
        problems.too_many(path, len(fields), FIELDS_MAX)
    seen: set[str] = set(taken)
    for index, each in enumerate(fields[:FIELDS_MAX]):
        at, name = f"{path}[{index}]", str(each.get("name") or "")
        if not NAME.fullmatch(name):
            problems.invalid(
                f"{at}.name", name, "must be a name in CEL: letters, digits and _, such as workload"
            )
        elif name in seen:
            problems.duplicate(f"{at}.name", name)
        seen.add(name)
        if each.get("default") is not None:
            try:
                read_value(each, each["default"])
            except ValueError as error:
                problems.invalid(f"{at}.default", each["default"], str(error))

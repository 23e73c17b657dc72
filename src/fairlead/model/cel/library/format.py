"""`'%s has %d'.format([a, b])`: the clauses that CEL's string extensions have."""

from __future__ import annotations

import re
from typing import Any

from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.lexer import Uint
from fairlead.model.cel.library.standard import number_text, text_of
from fairlead.model.cel.values import Spend, TypeValue, is_list, no_overload, type_name

_CLAUSE = re.compile(r"%(?:\.([0-9]{1,3}))?(.?)", re.S)
_PRECISION = 6
_PRECISION_MAX = 100


def formatted(spend: Spend, text: Any, arguments: Any) -> str:
    if type(text) is not str or not is_list(arguments):
        raise no_overload("format", text, arguments)
    spend(len(text) // 10 + len(arguments))
    out: list[str] = []
    at = used = 0
    for match in _CLAUSE.finditer(text):
        out.append(text[at : match.start()])
        at = match.end()
        clause = match.group(2)
        if clause == "%":
            out.append("%")
            continue
        if used >= len(arguments):
            raise EvaluationError(f"index {used} out of range")
        out.append(_one(spend, clause, match.group(1), arguments[used]))
        spend(len(out[-1]) // 10)
        used += 1
    return "".join((*out, text[at:]))


def _one(spend: Spend, clause: str, digits: str | None, value: Any) -> str:
    precision = min(int(digits), _PRECISION_MAX) if digits else _PRECISION
    number = type(value) in (int, Uint)
    if clause == "s":
        return _shown(spend, value)
    if clause == "d" and (number or type(value) is float):
        return number_text(value) if type(value) is float else str(int(value))
    if clause in ("f", "e") and (number or type(value) is float):
        return f"{float(value):.{precision}{clause}}"
    if clause == "b" and (number or type(value) is bool):
        return f"{int(value):b}"
    if clause == "o" and number:
        return f"{int(value):o}"
    if clause in ("x", "X"):
        if number:
            shown = f"{int(value):x}"
        elif type(value) in (str, bytes):
            shown = (value if type(value) is bytes else value.encode()).hex()
        else:
            raise EvaluationError(f"%{clause} cannot show a {type_name(value)}")
        return shown.upper() if clause == "X" else shown
    if clause in ("s", "d", "f", "e", "b", "o"):
        raise EvaluationError(f"%{clause} cannot show a {type_name(value)}")
    raise EvaluationError(f"unrecognized formatting clause: %{clause}")


def _shown(spend: Spend, value: Any) -> str:
    """Anything, nested values included."""
    if is_list(value):
        spend(len(value))
        return "[" + ", ".join(_shown(spend, each) for each in value) + "]"
    if type(value) is dict:
        spend(len(value))
        pairs = sorted((_shown(spend, key), _shown(spend, each)) for key, each in value.items())
        return "{" + ", ".join(f"{key}: {each}" for key, each in pairs) + "}"
    if value is None:
        return "null"
    if isinstance(value, TypeValue):
        return value.name
    return text_of(spend, value)

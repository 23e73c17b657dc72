"""CEL's string extensions (version 2, which is Kubernetes'), patterns by RE2, and base64."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import re2

from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.library.format import formatted
from fairlead.model.cel.library.function import Library
from fairlead.model.cel.library.lists import index_of, last_index_of
from fairlead.model.cel.values import Spend, is_list, no_overload
from fairlead.model.custom.patterns import PATTERN_BYTES_MAX, PatternError, compile_pattern

LIBRARY = Library()

_options = re2.Options()
_options.log_errors = False
_options.max_mem = PATTERN_BYTES_MAX


def _texts(name: str, *values: Any) -> None:
    for each in values:
        if type(each) is not str:
            raise no_overload(name, *values)


def _count(name: str, *values: Any) -> None:
    for each in values:
        if type(each) is not int:
            raise no_overload(name, *values)


def _char_at(spend: Spend, text: Any, place: Any) -> str:
    _texts("charAt", text)
    _count("charAt", place)
    if not 0 <= place <= len(text):
        raise EvaluationError(f"index out of range: {place}")
    return str(text[place : place + 1])


def _index_of(spend: Spend, text: Any, part: Any, start: Any = 0) -> int:
    if is_list(text):
        return index_of(spend, text, part)
    _texts("indexOf", text, part)
    _count("indexOf", start)
    spend(len(text) // 10)
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    return int(text.find(part, start))


def _last_index_of(spend: Spend, text: Any, part: Any, start: Any = None) -> int:
    if is_list(text):
        return last_index_of(spend, text, part)
    _texts("lastIndexOf", text, part)
    spend(len(text) // 10)
    if start is None:
        return int(text.rfind(part))
    _count("lastIndexOf", start)
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    return int(text.rfind(part, 0, start + len(part)))


def _join(spend: Spend, items: Any, between: Any = "") -> str:
    if not is_list(items):
        raise no_overload("join", items, between)
    spend(len(items))
    _texts("join", between, *items)
    spend((sum(map(len, items)) + len(items) * len(between)) // 10)
    return str(between.join(items))


def _lower(spend: Spend, text: Any) -> str:
    _texts("lowerAscii", text)
    spend(len(text) // 10)
    return "".join(chr(ord(each) + 32) if "A" <= each <= "Z" else each for each in text)


def _upper(spend: Spend, text: Any) -> str:
    _texts("upperAscii", text)
    spend(len(text) // 10)
    return "".join(chr(ord(each) - 32) if "a" <= each <= "z" else each for each in text)


def _replace(spend: Spend, text: Any, old: Any, new: Any, count: Any = -1) -> str:
    _texts("replace", text, old, new)
    _count("replace", count)
    found = text.count(old) if count < 0 else min(text.count(old), count)
    spend((2 * len(text) + found * len(new)) // 10)
    return str(text.replace(old, new, count))


def _split(spend: Spend, text: Any, between: Any, count: Any = -1) -> list[str]:
    _texts("split", text, between)
    _count("split", count)
    spend(len(text) // 10 + 1)
    if count == 0:
        return []
    if not between:
        spend(len(text))
        parts = list(text)
        if 0 < count < len(parts):
            parts = [*parts[: count - 1], "".join(parts[count - 1 :])]
        return parts
    spend(text.count(between))
    return list(text.split(between, count - 1 if count > 0 else -1))


def _substring(spend: Spend, text: Any, start: Any, end: Any = None) -> str:
    _texts("substring", text)
    stop = len(text) if end is None else end
    _count("substring", start, stop)
    spend(len(text) // 10)
    if not 0 <= start <= stop <= len(text):
        raise EvaluationError(f"invalid substring range. start: {start}, end: {stop}")
    return str(text[start:stop])


def _trim(spend: Spend, text: Any) -> str:
    _texts("trim", text)
    spend(len(text) // 10)
    return str(text.strip())


_QUOTED = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def _quote(spend: Spend, text: Any) -> str:
    _texts("strings.quote", text)
    spend(len(text) // 10)
    return '"' + "".join(_QUOTED.get(each, each) for each in text) + '"'


def _matches(spend: Spend, text: Any, pattern: Any) -> bool:
    _texts("matches", text, pattern)
    try:
        return compile_pattern(pattern).matches(text, spend)
    except PatternError as error:
        raise EvaluationError(f"error parsing regexp: {error}") from None


def _pattern(spend: Spend, text: str, pattern: str) -> Any:
    spend(len(pattern) + (len(text) // 10 + 1) * (len(pattern) // 4 + 1))
    try:
        return re2.compile(pattern, _options)
    except re2.error as error:
        raise EvaluationError(f"error parsing regexp: {error.args[0]!r}") from None


def _find(spend: Spend, text: Any, pattern: Any) -> str:
    _texts("find", text, pattern)
    found = _pattern(spend, text, pattern).search(text)
    return "" if found is None else str(found.group(0))


def _find_all(spend: Spend, text: Any, pattern: Any, most: Any = -1) -> list[str]:
    _texts("findAll", text, pattern)
    _count("findAll", most)
    found: list[str] = []
    end = -1
    for match in _pattern(spend, text, pattern).finditer(text):
        before, end = end, match.end()
        if match.start() == match.end() == before:
            continue  # nothing, right after something, is no match of its own
        if 0 <= most <= len(found):
            break
        spend(1 + len(text) // 5000)  # what one more match in a long text really takes
        found.append(match.group(0))
    return found


def _encode(spend: Spend, value: Any) -> str:
    if type(value) is not bytes:
        raise no_overload("base64.encode", value)
    spend(len(value) // 10)
    return base64.b64encode(value).decode()


def _decode(spend: Spend, text: Any) -> bytes:
    _texts("base64.decode", text)
    spend(len(text) // 10)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError("illegal base64 data") from None


def _escape_key(spend: Spend, text: Any) -> str:
    _texts("jsonpatch.escapeKey", text)
    spend(len(text) // 10)
    return str(text.replace("~", "~0").replace("/", "~1"))


LIBRARY.function("jsonpatch.escapeKey", 1, _escape_key, "string")
LIBRARY.method("charAt", 1, _char_at, "string", "string")
for _many in (1, 2):
    LIBRARY.method("indexOf", _many, _index_of, "int", "string list")
    LIBRARY.method("lastIndexOf", _many, _last_index_of, "int", "string list")
    LIBRARY.method("split", _many, _split, "list", "string")
    LIBRARY.method("substring", _many, _substring, "string", "string")
    LIBRARY.method("findAll", _many, _find_all, "list", "string")
for _many in (0, 1):
    LIBRARY.method("join", _many, _join, "string", "list")
for _many in (2, 3):
    LIBRARY.method("replace", _many, _replace, "string", "string")
LIBRARY.method("lowerAscii", 0, _lower, "string", "string")
LIBRARY.method("upperAscii", 0, _upper, "string", "string")
LIBRARY.method("trim", 0, _trim, "string", "string")
LIBRARY.method("format", 1, formatted, "string", "string")
LIBRARY.method("find", 1, _find, "string", "string")
LIBRARY.method("matches", 1, _matches, "bool", "string")
LIBRARY.function("matches", 2, _matches, "bool")
LIBRARY.function("strings.quote", 1, _quote, "string")
LIBRARY.function("base64.encode", 1, _encode, "string")
LIBRARY.function("base64.decode", 1, _decode, "bytes")

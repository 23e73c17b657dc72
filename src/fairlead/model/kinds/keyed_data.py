"""Rules that ConfigMap and Secret share: the form of their keys, their size, and `immutable`."""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.names import config_key_problems

#: bound: objects | data of one ConfigMap or Secret | 422
TOTAL_BYTES_MAX = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"


def validate_keys(data: Json, path: str, problems: Problems) -> None:
    for key in data:
        for text in config_key_problems(key):
            problems.invalid(f"{path}[{key}]", key, text)


def text_bytes(text: str | None) -> int:
    """Size of a text in UTF-8."""
    if not text:
        return 0
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def decoded_bytes(encoded: str | None) -> int:
    """Size of what base64 text stands for, without decoding it."""
    if not encoded:
        return 0
    return len(encoded) * 3 // 4 - encoded[-2:].count("=")


def validate_frozen(new: Json, old: Json, fields: tuple[str, ...], problems: Problems) -> None:
    """Once `immutable` is true, it and the data stay as they are."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        problems.forbidden("immutable", _FROZEN)
    for field in fields:
        if (new.get(field) or {}) != (old.get(field) or {}):
            problems.forbidden(field, _FROZEN)

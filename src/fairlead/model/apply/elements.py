"""The steps of a path as Kubernetes' fieldsV1 spells them, and as people read them in a message.

`f:name` is a field, `k:{...}` an item of a list that has keys (sorted by name), `v:...` an item of a set, `i:N` one by
its place, which is read but never made. A set of fields (`sets.py`) is made of these strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from fairlead.core.errors import FairleadError

SELF = "."  # the thing itself, in a set that also names what is below it

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder().decode


class UndecodableError(FairleadError):
    """A set of fields that cannot be read; the message says where."""


def field_element(name: str) -> str:
    return "f:" + name


def value_element(value: Any) -> str:
    return "v:" + _encode(value).decode()


def key_element(keys: Iterable[tuple[str, Any]]) -> str:
    """`keys` must come sorted by name."""
    return "k:" + _encode(dict(keys)).decode()


def check_element(element: str) -> None:
    """Raises UndecodableError for what is no step of a path."""
    mark, colon, rest = element.partition(":")
    if not colon:
        raise UndecodableError(f"{element!r}: expected one of f:, k:, v:, i: or a single point")
    if mark == "f":
        return
    if mark == "i":
        if not rest.lstrip("-").isdecimal():
            raise UndecodableError(f"{element!r}: an index is a whole number")
        return
    if mark not in ("k", "v"):
        raise UndecodableError(f"{element!r}: {mark!r} is none of f, k, v, i")
    try:
        value = _decode(rest.encode())
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        raise UndecodableError(f"{element!r}: {error}") from None
    if mark == "k" and not (isinstance(value, dict) and value):
        raise UndecodableError(f"{element!r}: the keys of an item are an object")


def element_text(element: str) -> str:
    """As in a message: `.name`, `[key="value"]`, `[="value"]`."""
    mark, _, rest = element.partition(":")
    if mark == "k":
        keys = sorted(_decode(rest.encode()).items())
        return "[" + ",".join(f"{name}={_quoted(value)}" for name, value in keys) + "]"
    if mark == "v":
        return f"[={_quoted(_decode(rest.encode()))}]"
    return f"[{rest}]" if mark == "i" else f".{rest}"


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

"""JSON in and out, and the digest of bytes. Everything that enters or leaves as JSON passes here.

`api/body.py` decodes request bodies with `decode` and asks `duplicate_fields` when fieldValidation is Strict
or Warn; the store's values and every reply are `encode`d here. A body that is not JSON becomes BadRequest
naming byte, line and column, and never quotes the body, which may hold secrets. Nesting is bounded before the
decoder recurses, so that every later walk over a tree may recurse freely.

What JSON leaves open is settled so: a repeated key's last value counts; integers keep their exact value up to
4,300 digits; numbers out of a float's range, NaN, Infinity, invalid UTF-8 and lone surrogates are refused.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Any

import msgspec

from fairlead.core.errors import BadRequest

#: bound: requests | levels of objects and arrays in a body | 400
DEPTH_MAX = 100

_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()
_sorted = msgspec.json.Encoder(order="sorted")
_GO_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)

_BYTE = re.compile(r"^(?:JSON is malformed: )?(.*?)(?: \(byte ([0-9]+)\))?$", re.DOTALL)
# Keeps brackets and quotes only, with one spelling of bracket.
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_OPENING = ord("[")
_LEVELS_STRIPPED = 3
_NOT_STRUCTURE = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_$-]+")
_KEY_SHOWN_MAX = 128


def decode(body: bytes) -> Any:
    """The JSON value in `body`, or BadRequest saying what is wrong and where."""
    if body.count(b"[") + body.count(b"{") > DEPTH_MAX and too_deep(body):
        raise BadRequest(
            f"the body is nested too deeply: at most {DEPTH_MAX} levels of objects and arrays are accepted"
        )
    try:
        return _decoder.decode(body)
    except UnicodeDecodeError:
        raise _not_utf8(body) from None
    except msgspec.MsgspecError as error:
        raise _not_json(body, str(error)) from None


def too_deep(body: bytes) -> bool:
    """Whether brackets outside strings nest deeper than DEPTH_MAX; whether they pair up is the decoder's matter.

    Strings and scalars go first, then the innermost levels, which are most of a usual body: all that in C. Only
    what is left is counted one by one, and that ends as soon as it is too deep.
    """
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside_strings = unescaped.translate(_BRACKETS, _NOT_STRUCTURE).split(b'"')[::2]
    brackets = b"".join(outside_strings)
    for _ in range(_LEVELS_STRIPPED):
        brackets = brackets.replace(b"[]", b"")
    levels = _LEVELS_STRIPPED
    for byte in brackets:
        if byte == _OPENING:
            levels += 1
            if levels > DEPTH_MAX:
                return True
        else:
            levels -= 1
    return False


def _not_json(body: bytes, message: str) -> BadRequest:
    parts = _BYTE.match(message)
    what, byte = (parts[1], parts[2]) if parts else (message, None)
    if "truncated" in what:
        if not body.strip():
            return BadRequest("the body is empty; a JSON document is expected")
        return BadRequest(f"the body is not valid JSON: it ends in the middle, after byte {len(body)}")
    where = f" at {_position(body, int(byte))}" if byte else ""
    return BadRequest(f"the body is not valid JSON: {what[:1].lower()}{what[1:]}{where}")


def _not_utf8(body: bytes) -> BadRequest:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return BadRequest(f"the body is not valid JSON: invalid UTF-8 at {_position(body, error.start)}")
    return BadRequest("the body is not valid JSON: invalid Unicode in a string")


def _position(body: bytes, byte: int) -> str:
    line = body.count(b"\n", 0, byte) + 1
    column = byte - (body.rfind(b"\n", 0, byte) + 1) + 1
    return f"byte {byte} (line {line}, column {column})"


def encode(tree: Any) -> bytes:
    """Compact JSON. Object keys keep their order."""
    return _encoder.encode(tree)


def encode_sorted(tree: Any) -> bytes:
    """Compact JSON. Object keys are in the order of their code points."""
    return _sorted.encode(tree)


def encode_as_go(tree: Any) -> bytes:
    """Compact JSON as Go writes a map: keys in order, and what could be HTML escaped.

    Kubernetes' controllers compare and hash what they keep in ControllerRevisions byte by byte."""
    text = _sorted.encode(tree)
    for plain, escaped in _GO_ESCAPES:
        text = text.replace(plain, escaped)  # none of them occurs outside a string
    return text


def digest(data: bytes) -> str:
    """32 hexadecimal characters that stand for these bytes."""
    return blake2b(data, digest_size=16).hexdigest()


def clone(tree: Any) -> Any:
    """A copy of a JSON tree that shares no dict or list with it. Through bytes: the quickest way in Python."""
    kind = type(tree)
    return _decoder.decode(_encoder.encode(tree)) if kind is dict or kind is list else tree


def depth(tree: Any) -> int:
    """Levels of objects and arrays in a tree; a scalar has none. Does not recurse."""
    levels, layer = 0, [tree]
    while layer:
        layer = [item for item in layer if type(item) is dict or type(item) is list]
        levels += bool(layer)
        layer = [child for item in layer for child in (item.values() if type(item) is dict else item)]
    return levels


class _RepeatedKeyError(Exception):
    """Leaves the quick scan at the first repeated key."""


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _RepeatedKeyError


class _Pairs(list[tuple[str, Any]]):
    """An object of the slow scan with all its keys, repeated or not."""


_quick = json.JSONDecoder(object_pairs_hook=_refuse_repeats)
_slow = json.JSONDecoder(object_pairs_hook=_Pairs)


def may_repeat_fields(body: bytes, tree: Any) -> bool:
    """False if `body` surely gives no key twice; `tree` is what `decode` made of it, unchanged.

    A key that was given twice is encoded once, and so takes its two quotation marks with it. Nothing else changes
    their number but an escape that spells one in another way.
    """
    return body.count(b'"') != _encoder.encode(tree).count(b'"') or b"\\u0022" in body


def duplicate_fields(body: bytes, limit: int = 100, tree: Any = None) -> list[str]:
    """Paths of keys that occur more than once in an object of `body`, which `decode` has accepted.

    Almost every body has none, so quick ways to see that come first: one that compares with `tree`, what `decode`
    made of the body; else a scan that keeps no paths.
    """
    if tree is not None and not may_repeat_fields(body, tree):
        return []
    text = body.decode()
    try:
        _quick.decode(text)
    except _RepeatedKeyError:
        found: list[str] = []
        _collect(_slow.decode(text), "", found, limit)
        return found
    return []


def _collect(tree: Any, path: str, found: list[str], limit: int) -> None:
    if isinstance(tree, _Pairs):
        seen: set[str] = set()
        for key, item in tree:
            here = field_path(path, key)
            if key in seen and here not in found:
                found.append(here)
            if len(found) >= limit:
                return
            seen.add(key)
            _collect(item, here, found, limit)
    elif isinstance(tree, list):
        for index, item in enumerate(tree):
            if len(found) >= limit:
                return
            _collect(item, f"{path}[{index}]", found, limit)


def field_path(path: str, key: str) -> str:
    """`path.key`; keys that are no plain words are quoted: `metadata.annotations["a.b/c"]`."""
    if (key.isascii() and key.isidentifier()) or _PLAIN_KEY.fullmatch(key):
        return f"{path}.{key}" if path else key
    shown = key if len(key) <= _KEY_SHOWN_MAX else key[:_KEY_SHOWN_MAX] + "..."
    return f"{path}[{_encoder.encode(shown).decode()}]"

"""The text of an expression as tokens, each with its place. Read by `parser.py`."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from fairlead.model.cel.errors import ExpressionError

IDENT, LITERAL, PUNCTUATION, END = "identifier", "literal", "punctuation", "end"

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
# Past this a text is a mistake or an attack; policies are a few hundred characters long.
#: bound: policies | characters of one expression | 422
EXPRESSION_LENGTH_MAX = 16 * 1024


class Uint(int):
    """An unsigned number: another type than `int`, though equal to the same one."""

    __slots__ = ()


class Token(NamedTuple):
    sort: str
    text: str
    offset: int
    value: Any = None


_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>(?:[rR]?[bB]?|[bB][rR])(?:'''|\"\"\"|'|\"))
    |(?P<hex>0[xX][0-9a-fA-F]+[uU]?)
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<int>\d+[uU]?)
    |(?P<ident>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<quoted>`[a-zA-Z0-9_.\-/ ]+`)
    |(?P<punctuation>&&|\|\||==|!=|<=|>=|[-+*/%!<>()\[\]{}.,:?])""",
    re.VERBOSE,
)
_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.S
)


def tokens_of(text: str) -> list[Token]:
    """Raises ExpressionError at the first character that belongs to nothing."""
    if len(text) > EXPRESSION_LENGTH_MAX:
        raise ExpressionError(f"must be no longer than {EXPRESSION_LENGTH_MAX} characters")
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ExpressionError(f"Syntax error: token recognition error at: '{text[at]}'", text, at)
        sort, end = match.lastgroup, match.end()
        if sort == "string":
            token, end = _string(text, at, match.group())
            found.append(token)
        elif sort == "ident":
            found.append(Token(IDENT, match.group(), at))
        elif sort == "quoted":
            found.append(Token("quoted", match.group()[1:-1], at))
        elif sort in ("int", "hex", "float"):
            found.append(Token(LITERAL, match.group(), at, _number(text, match.group(), sort, at)))
        elif sort == "punctuation":
            found.append(Token(PUNCTUATION, match.group(), at))
        at = end
    found.append(Token(END, "<EOF>", len(text)))
    return found


def _number(text: str, shown: str, sort: str, at: int) -> int | float:
    if sort == "float":
        return float(shown)
    unsigned = shown[-1] in "uU"
    value = int(shown.rstrip("uU"), 16 if sort == "hex" else 10)
    if unsigned:
        if value > UINT_MAX:
            raise ExpressionError("invalid uint literal", text, at)
        return Uint(value)
    if value > INT_MAX + 1:  # one more than fits: -9223372036854775808 is written so
        raise ExpressionError("invalid int literal", text, at)
    return value


def _string(text: str, at: int, opening: str) -> tuple[Token, int]:
    prefix = opening.rstrip("'\"").lower()
    quote = opening[len(prefix) :]
    begin = at + len(opening)
    end = begin
    while True:
        if end >= len(text) or (len(quote) == 1 and text[end] == "\n"):
            raise ExpressionError("Syntax error: a string is not closed", text, at)
        if text.startswith(quote, end):
            break
        end += 2 if text[end] == "\\" and "r" not in prefix else 1
    inside = text[begin:end]
    if "b" in prefix:
        value: Any = inside.encode() if "r" in prefix else _bytes(text, inside, at)
    else:
        value = inside if "r" in prefix else _unescaped(text, inside, at)
    return Token(LITERAL, text[at : end + len(quote)], at, value), end + len(quote)


def _unescaped(text: str, inside: str, at: int) -> str:
    def one(match: re.Match[str]) -> str:
        code = match.group(1) or match.group(2) or match.group(3) or match.group(4)
        if code or match.group(5):
            point = int(code, 16) if code else int(match.group(5), 8)
            if point > 0x10FFFF or 0xD800 <= point < 0xE000:
                raise ExpressionError(f"invalid unicode code point in {match.group()}", text, at)
            return chr(point)
        simple = _SIMPLE.get(match.group(6))
        if simple is None:
            raise ExpressionError(f"Syntax error: unknown escape sequence {match.group()}", text, at)
        return simple

    return _ESCAPE.sub(one, inside) if "\\" in inside else inside


def _bytes(text: str, inside: str, at: int) -> bytes:
    out = bytearray()
    end = 0
    for match in _ESCAPE.finditer(inside):
        out += inside[end : match.start()].encode()
        octet = match.group(1) or match.group(2)
        if octet or match.group(5):
            out.append(int(octet, 16) if octet else int(match.group(5), 8))
        else:
            out += _unescaped(text, match.group(), at).encode()
        end = match.end()
    return bytes(out + inside[end:].encode())

"""Numbers and flags in a query, checked: a refusal names the parameter, the bad value and what is right."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.core.errors import BadRequest
from fairlead.core.problems import show

_COUNTED_MAX = 2**63 - 1  # more does not fit the 64 bits that a database counts with
_DIGITS_MAX = len(str(_COUNTED_MAX))
_TRUE = frozenset({"true", "1", "t", "T", "TRUE", "True"})
_FALSE = frozenset({"false", "0", "f", "F", "FALSE", "False", ""})


def parse_flag(query: Mapping[str, str], name: str) -> bool | None:
    """A boolean option; None when it was not given."""
    text = query.get(name)
    if text is None:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise BadRequest(f"query parameter {name}: {show(text)} is not a boolean; use true or false")


def parse_whole(
    query: Mapping[str, str], name: str, wrong: str = "is not a whole number of zero or more"
) -> int | None:
    """A non-negative whole number; None when absent or empty."""
    text = query.get(name)
    if not text:
        return None
    is_short = text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX
    if not is_short or (number := int(text)) > _COUNTED_MAX:
        raise BadRequest(f"query parameter {name}: {show(text)} {wrong}")
    return number

"""JSON and signals for the supervisor without the modules that cost most at its start.

`json`, `signal` and `typing` bring `re` and `enum` along, which takes as much CPU as the interpreter's own start; the
halves of them that are written in C do all that is needed here. Where an interpreter lacks these, the public ones are
used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it; `typing` itself is among those that cost
if TYPE_CHECKING:
    import signal
    from typing import Any
else:
    try:
        import _signal as signal
    except ImportError:
        import signal

__all__ = ["from_json", "signal", "to_json"]


class _Reading:
    """What the scanner wants to be told."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012  part of the scanner's interface


def _cannot(value: object) -> Any:
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _codec() -> tuple[Any, Any]:
    try:
        import _json

        private: Any = _json
        scan: Any = private.make_scanner(_Reading())
        chunks: Any = private.make_encoder(
            None, _cannot, private.encode_basestring_ascii, None, ":", ",", False, False, True
        )
        if scan(" ".join(chunks({"a": [1, 0.5, "é", None, True]}, 0)), 0)[0] != {
            "a": [1, 0.5, "é", None, True]
        }:
            raise ValueError("the private interface of json has changed")
    except (ImportError, AttributeError, TypeError, ValueError):
        import json

        return json.loads, json.dumps

    def read(text: str) -> Any:
        try:
            value, end = scan(text, 0)
        except StopIteration:
            raise ValueError("not JSON") from None
        if text[end:].strip():
            raise ValueError("more than one value")
        return value

    def write(value: Any) -> str:
        return "".join(chunks(value, 0))

    return read, write


from_json, to_json = _codec()

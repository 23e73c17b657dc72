"""Texts that differ in a few places: the rest is encoded once, and what differs is spliced in.

Used by `api/` for lines of the audit log and for objects that come by the thousand. A text is made the ordinary way
with marks in the places that differ; `Spliced` finds the marks again. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping


class Spliced:
    """`fill` gives the text with a value in place of each mark. Values are JSON, like the marks: a text with its
    quotation marks, or part of a text that needs no escapes."""

    __slots__ = ("_format",)

    def __init__(self, text: bytes, marks: Mapping[bytes, bytes]) -> None:
        """`marks`: what stands in the text for which name."""
        pattern = text.replace(b"%", b"%%")
        for name, mark in marks.items():
            pattern = pattern.replace(mark, b"%%(%b)b" % name)
        self._format = pattern

    def fill(self, values: Mapping[bytes, bytes]) -> bytes:
        return self._format % values

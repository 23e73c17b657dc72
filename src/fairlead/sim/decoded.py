"""Stored bytes as views, decoded once per run for the mirrors of all planes and for the checkers.

Decoding is a pure function of the bytes and views are never changed, so who decoded first makes no difference. A
version is usually read by both planes and by the checkers, and by every list after it. What every run of a scenario
starts from is decoded once for all of them (`memory.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

from fairlead.model.pod_decoder import decode_pod
from fairlead.model.views import Pod

_NOTHING: Mapping[bytes, Any] = {}


class Decoded:
    def __init__(self, start: Decoded | None = None) -> None:
        """`start`: what it knows from the start; it learns nothing of what is decoded here."""
        self._start = start
        self._known: dict[type, _Known] = {}

    def decoder(self, view: type) -> Callable[[bytes], Any]:
        """For views of this type."""
        found = self._known.get(view)
        if found is None:
            before = self._start._known.get(view, _NOTHING) if self._start is not None else _NOTHING
            found = self._known[view] = _Known(_decoder(view), before)
        return found.__getitem__


@cache  # there are as many as types of views, and each run asks for most of them
def _decoder(view: type) -> Callable[[bytes], Any]:
    return decode_pod if view is Pod else msgspec.json.Decoder(view).decode


class _Known(dict[bytes, Any]):
    def __init__(self, decode: Callable[[bytes], Any], known: Mapping[bytes, Any]) -> None:
        super().__init__(known)
        self._decode = decode

    def __missing__(self, data: bytes) -> Any:
        view = self[data] = self._decode(data)
        return view

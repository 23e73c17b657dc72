"""Stored bytes as views, decoded once per run for the mirrors of all planes and for the checkers.

Decoding is a pure function of the bytes and views are never changed, so who decoded first makes no difference. A
version is usually read by both planes and by the checkers, and by every list after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec


class Decoded:
    def __init__(self) -> None:
        self._decoders: dict[type, Callable[[bytes], Any]] = {}

    def decoder(self, view: type) -> Callable[[bytes], Any]:
        """For views of this type."""
        found = self._decoders.get(view)
        if found is None:
            found = self._decoders[view] = _Known(msgspec.json.Decoder(view).decode).__getitem__
        return found


class _Known(dict[bytes, Any]):
    def __init__(self, decode: Callable[[bytes], Any]) -> None:
        self._decode = decode

    def __missing__(self, data: bytes) -> Any:
        view = self[data] = self._decode(data)
        return view

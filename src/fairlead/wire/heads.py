"""Heads of requests that are known: request line and headers, byte for byte, and what was read in them.

Clients that keep a connection send the same head again and again. The reader of a connection (`receiving.py`)
remembers that of its last request, if it came whole and by itself, and does not parse one like it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.wire.exchange import Exchange

# Nobody who has not signed in can have more of it kept.
#: bound: connections | the head of a request that is remembered for the next | it is parsed anew
HEAD_BYTES_KEPT_MAX = 4096
_END = b"\r\n\r\n"


class Head(NamedTuple):
    text: bytes
    length: int  # of the body
    method: bytes
    target: bytes
    headers: dict[bytes, bytes]
    impersonation: Sequence[tuple[bytes, bytes]]

    def begins(self, data: bytes) -> bool:
        """Whether this is one request with the same head, and nothing else."""
        return len(data) == len(self.text) + self.length and data.startswith(self.text)


def head_of(data: bytes, length: int, exchange: Exchange) -> Head | None:
    """The head of a request that came as `data`, with a body of this length; None where the next must be parsed."""
    size = len(data) - length
    if not exchange.keep_alive or not exchange.chunked or b"expect" in exchange.headers:
        return None  # the connection ends, is of HTTP/1.0, or the client waits for a word of ours
    if size > HEAD_BYTES_KEPT_MAX or data.find(_END) + len(_END) != size:
        return None
    return Head(
        text=data[:size],
        length=length,
        method=exchange.method,
        target=exchange.target,
        headers=exchange.headers,
        impersonation=exchange.impersonation,
    )

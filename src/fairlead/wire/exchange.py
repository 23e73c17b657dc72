"""One request and the right to answer it. Made by a connection, given to the handler, answered from any callback.

`wire/http.py` makes these; handlers, documents, watches and streams of logs answer them. What is written here are whole
header blocks and frames; the connection knows in which order and whether at all they go out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fairlead.api.access.users import User

if TYPE_CHECKING:
    from fairlead.wire.http import ServerConnection

_STATUS_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\ncontent-type: ".encode() for s in HTTPStatus}
_LENGTH = b"\r\ncontent-length: "

# The path and the query of a request, and who sends it.
Sender = tuple[str, Mapping[str, str], User]


class Exchange:
    """One request and the right to answer it, once: with `respond`, or with `stream` and its frames."""

    __slots__ = (
        "_connection",
        "about",
        "arrived",
        "body",
        "body_bytes",
        "body_owner",
        "body_unread",
        "chunked",
        "flow",
        "headers",
        "impersonation",
        "keep_alive",
        "method",
        "on_gone",
        "on_settled",
        "sender",
        "streaming",
        "target",
    )

    def __init__(
        self, connection: ServerConnection, method: bytes, target: bytes, headers: dict[bytes, bytes]
    ) -> None:
        self._connection = connection
        self.method = method
        self.target = target
        self.headers = headers
        self.impersonation: Sequence[tuple[bytes, bytes]] = ()  # every header that asks for it, as they came
        self.arrived = 0.0  # when it was handed to the handler, whole, by the performance counter
        self.body = b""
        self.body_unread = False  # it has a body, of somebody unknown: that is not read
        self.body_owner, self.body_bytes = "", 0  # what is held of the budget for bodies, and by whom
        # As it was found when room was taken for the body: there for as long as the reader hands it over, in one step.
        self.sender: Sender | None = None
        self.about = b""  # header lines of every answer to it, each ending in CRLF
        self.flow = b""  # further ones, which tell in whose flow it came
        self.keep_alive = True
        self.chunked = True  # False for HTTP/1.0, where only the end of the connection ends a stream
        self.streaming = False
        self.on_gone: Callable[[], None] | None = None  # called when the client leaves during a stream
        # Called once: it is answered, has become a stream, or its client is gone.
        self.on_settled: Callable[[], None] | None = None

    @property
    def peer(self) -> str:
        return self._connection.peer

    @property
    def audit_id(self) -> str:
        """By which audit knows it, once it has begun."""
        found = self.about.partition(b"\r\n")[0].partition(b": ")
        return found[2].decode("latin-1")

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._connection.loop

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """The client's certificate, which TLS has verified, as `getpeercert` gives it; None if none was asked for."""
        return self._connection.certificate

    def recognize(self) -> None:
        """The client has signed in: its connection does not give way to strangers any more."""
        if self._connection.is_stranger:
            self._connection.recognized()

    def settle(self) -> None:
        """Nothing more is to be done for it, but for what a stream sends."""
        settled, self.on_settled = self.on_settled, None
        if settled is not None:
            settled()

    def respond(self, status: int, content_type: bytes, body: bytes, extra: bytes = b"") -> None:
        """`extra` is whole header lines, each ending in CRLF."""
        head = self._head(status, content_type, len(body), extra)
        self._connection.answer(self, head, b"" if self.method == b"HEAD" else body)

    def respond_long(
        self, status: int, content_type: bytes, length: int, pieces: Iterator[bytes], extra: bytes = b""
    ) -> None:
        """A body that is taken in pieces, as the client reads; together they are `length` bytes."""
        head = self._head(status, content_type, length, extra)
        if self.method == b"HEAD":
            self._connection.answer(self, head, b"")
        else:
            self._connection.pour(self, head, pieces)

    def _head(self, status: int, content_type: bytes, length: int, extra: bytes) -> bytes:
        return b"%b%b%b%d\r\n%b%b%b\r\n" % (
            _STATUS_LINES[status],
            content_type,
            _LENGTH,
            length,
            self.about,
            extra,
            b"" if self.keep_alive else b"connection: close\r\n",
        )

    def stream(self, content_type: bytes) -> None:
        """Begin an answer of unknown length."""
        self.streaming = True
        self.settle()
        self.body = b""
        self._connection.release_body(self)
        self._connection.bound_stream(streams=True)
        framing = b"transfer-encoding: chunked" if self.chunked else b"connection: close"
        self._connection.write(
            b"%b%b\r\n%b\r\n%bcache-control: no-cache, private\r\n\r\n"
            % (_STATUS_LINES[200], content_type, framing, self.about)
        )

    def send(self, frames: bytes) -> None:
        self._connection.write(b"%x\r\n%b\r\n" % (len(frames), frames) if self.chunked else frames)

    def chunk_ends(self, size: int) -> tuple[bytes, bytes]:
        """What stands before and after `size` bytes of a stream that are sent with `send_pieces`."""
        return (b"%x\r\n" % size, b"\r\n") if self.chunked else (b"", b"")

    def send_pieces(self, pieces: list[memoryview]) -> None:
        """As they are; nothing is copied before it is encrypted."""
        self._connection.write_pieces(pieces)

    @property
    def writable(self) -> bool:
        """False while the client does not read what it was sent already."""
        return not self._connection.write_paused

    def on_writable(self, resumed: Callable[[], None]) -> None:
        """Call this when a client that had stopped reading reads again."""
        self._connection.resumed = resumed

    def end(self) -> None:
        """End the stream cleanly; the connection can be used again."""
        self.on_gone = None
        self._connection.answer(self, b"0\r\n\r\n" if self.chunked else b"", b"")

    def abort(self) -> None:
        """Cut a client that does not read; what was not sent is dropped."""
        self.on_gone = None
        self._connection.abort()

"""HTTP/1.1 on one connection: bytes in, Exchanges out, one write per answer.

The listener makes a Connection per client; httptools parses. A complete request becomes an Exchange and is given
to the handler, which answers at once or later, from any callback on the loop: there is no task per request.
Requests of one connection are answered in order; while one is open the next ones wait unread. Everything is
bounded: header bytes, body bytes, what a client may send ahead. What the limits refuse is answered, then closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import httptools

from fairlead.api.impersonation import PREFIX as IMPERSONATE

if TYPE_CHECKING:
    from fairlead.wire.listener import Listener

BODY_BYTES_MAX = 3 * 1024 * 1024
HEADER_BYTES_MAX = 64 * 1024
# Answers below this size go out together with their headers.
_JOIN_BYTES_MAX = 256 * 1024
# Of a long answer, so much goes out before other connections have their turn.
_TURN_BYTES = 512 * 1024

_STATUS_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\ncontent-type: ".encode() for s in HTTPStatus}
_LENGTH = b"\r\ncontent-length: "
_KEPT = frozenset(
    {
        b"authorization",
        b"accept",
        b"accept-encoding",
        b"content-type",
        b"user-agent",
        b"expect",
        b"if-none-match",
        b"x-request-id",
    }
)


class Exchange:
    """One request and the right to answer it, once: with `respond`, or with `stream` and its frames."""

    __slots__ = (
        "_connection",
        "about",
        "body",
        "chunked",
        "headers",
        "impersonation",
        "keep_alive",
        "method",
        "on_gone",
        "streaming",
        "target",
    )

    def __init__(
        self, connection: Connection, method: bytes, target: bytes, headers: dict[bytes, bytes]
    ) -> None:
        self._connection = connection
        self.method = method
        self.target = target
        self.headers = headers
        self.impersonation: Sequence[tuple[bytes, bytes]] = ()  # every header that asks for it, as they came
        self.body = b""
        self.about = b""  # header lines of every answer to it, each ending in CRLF
        self.keep_alive = True
        self.chunked = True  # False for HTTP/1.0, where only the end of the connection ends a stream
        self.streaming = False
        self.on_gone: Callable[[], None] | None = None  # called when the client leaves during a stream

    @property
    def peer(self) -> str:
        return self._connection.peer

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._connection.loop

    @property
    def certified_name(self) -> str:
        """The common name in the client's certificate, which TLS has verified; "" where none was asked for."""
        return self._connection.certified_name

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
        framing = b"transfer-encoding: chunked" if self.chunked else b"connection: close"
        self._connection.write(
            b"%b%b\r\n%b\r\n%bcache-control: no-cache, private\r\n\r\n"
            % (_STATUS_LINES[200], content_type, framing, self.about)
        )

    def send(self, frames: bytes) -> None:
        self._connection.write(b"%x\r\n%b\r\n" % (len(frames), frames) if self.chunked else frames)

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


class Connection(asyncio.Protocol):
    """One client. The listener owns the set of these and sweeps out the idle ones."""

    def __init__(self, listener: Listener, handle: Callable[[Exchange], None]) -> None:
        self._listener = listener
        self._handle = handle
        self._transport: asyncio.Transport | None = None
        self._parser: Any = httptools.HttpRequestParser(self)
        self._open: Exchange | None = None  # being answered
        self._waiting: list[Exchange] = []  # parsed, not yet begun
        self._reading_paused = False
        self._refused: tuple[int, bytes] | None = None
        self.write_paused = False
        self.resumed: Callable[[], None] | None = None  # a stream or a long answer that waits for room
        self._pieces: Iterator[bytes] | None = None  # what is left of a long answer
        self._turn: asyncio.Handle | None = None  # in which it goes on
        self.active_at = 0.0
        self.began_at = 0.0  # when the request that is being received began; 0: none is
        self.peer = ""
        self._target = b""
        self._headers: dict[bytes, bytes] = {}
        self._impersonation: list[tuple[bytes, bytes]] = []
        self._header_bytes = 0
        self._in_header = False
        self._messages = 0
        self._body: list[bytes] = []
        self._body_bytes = 0

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes, though they do all that these promise.
        self._transport = cast(asyncio.Transport, transport)
        peername = transport.get_extra_info("peername")
        self.peer = str(peername[0]) if peername else ""
        self._listener.joined(self)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._listener.loop

    @property
    def certified_name(self) -> str:
        shown = self._transport.get_extra_info("peercert") if self._transport is not None else None
        for part in shown.get("subject", ()) if shown else ():
            for field, value in part:
                if field == "commonName":
                    return str(value)
        return ""

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.left(self)
        exchange, self._open, self._pieces = self._open, None, None
        self._waiting.clear()
        # Parser and transport refer back to us: a circle would keep what was never read until a collection.
        self._parser = self._transport = self.resumed = None
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        if exchange is not None and exchange.on_gone is not None:
            exchange.on_gone()

    def data_received(self, data: bytes) -> None:
        self.active_at = self._listener.now()
        if self._refused is not None:
            return
        message = self._messages if self._in_header else -1
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(400, b"this server does not upgrade connections")
        except httptools.HttpParserError as error:
            if self._refused is None:
                self._refuse(400, f"malformed HTTP request: {error}".encode())
        if self._in_header and message == self._messages:
            self._header_bytes += len(data)  # of a line without end the parser tells nothing
            if self._header_bytes > HEADER_BYTES_MAX:
                self._refuse_header()
        if self._refused is not None and self._open is None and not self._waiting:
            self._send_refusal()

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        if self.resumed is not None:
            self.resumed()
        elif self._open is None and self._waiting:
            self._listener.loop.call_soon(self._next)

    # httptools

    def on_message_begin(self) -> None:
        self.began_at = self._listener.now()
        self._target, self._headers, self._impersonation, self._body = b"", {}, [], []
        self._header_bytes = self._body_bytes = 0
        self._in_header = True
        self._messages += 1

    def on_url(self, url: bytes) -> None:
        self._target += url
        self._header_bytes += len(url)
        if self._header_bytes > HEADER_BYTES_MAX:
            self._refuse_header()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > HEADER_BYTES_MAX:
            self._refuse_header()
        if not self._in_header:
            return  # a trailer, after the body: nothing that we act on may stand there
        name = name.lower()
        if name in _KEPT:
            self._headers[name] = value
        elif name.startswith(IMPERSONATE):
            self._impersonation.append((name, value))
        elif name == b"content-length" and int(value) > BODY_BYTES_MAX:
            self._refuse(413, b"the request body is larger than the limit of %d bytes" % BODY_BYTES_MAX)

    def on_headers_complete(self) -> None:
        self._in_header = False
        if self._headers.get(b"expect", b"").lower() == b"100-continue" and self._refused is None:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > BODY_BYTES_MAX:
            self._refuse(413, b"the request body is larger than the limit of %d bytes" % BODY_BYTES_MAX)
            return
        self._body.append(body)

    def on_message_complete(self) -> None:
        self.began_at = 0.0
        if self._refused is not None:
            return
        exchange = Exchange(self, self._parser.get_method(), self._target, self._headers)
        exchange.impersonation = self._impersonation
        parser = self._parser
        # We upgrade to nothing: the request is answered as it is, and what follows it is not HTTP.
        exchange.keep_alive = (
            parser.should_keep_alive() and not parser.should_upgrade() and not self._listener.stopping
        )
        if parser.get_http_version() == "1.0":
            exchange.chunked = False
        exchange.body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        # Who does not read the answers gets no further ones: they would gather here without bound.
        if self._open is None and not self._waiting and not self.write_paused:
            self._begin(exchange)
            return
        self._waiting.append(exchange)
        if not self._reading_paused and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()

    # Answers

    def _begin(self, exchange: Exchange) -> None:
        self._open = exchange
        self._handle(exchange)

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def answer(self, exchange: Exchange, head: bytes, body: bytes) -> None:
        """The last bytes of an answer; goes on with the next request, or closes."""
        if self._open is not exchange:
            return  # the client left meanwhile
        if len(body) <= _JOIN_BYTES_MAX:
            self.write(head + body)
        else:
            self.write(head)
            self.write(body)
        self._open = self.resumed = None
        self.active_at = self._listener.now()
        if not exchange.keep_alive or self._listener.stopping:
            self.close()
        elif self._waiting:
            self._listener.loop.call_soon(self._next)
        elif self._refused is not None:
            self._send_refusal()

    def pour(self, exchange: Exchange, head: bytes, pieces: Iterator[bytes]) -> None:
        """A long answer: as much at a time as the client takes, in turns with the other connections."""
        if self._open is not exchange:
            return
        self.write(head)
        self._pieces = pieces
        self.resumed = self._pour_on
        self._pour_on()

    def _pour_on(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        exchange, pieces = self._open, self._pieces
        if exchange is None or pieces is None:
            return  # the client left
        self.active_at = self._listener.now()
        size = 0
        while not self.write_paused and size < _TURN_BYTES:
            piece = next(pieces, None)
            if piece is None:
                self._pieces = None
                self.answer(exchange, b"", b"")
                return
            self.write(piece)
            size += len(piece)
        if not self.write_paused:
            self._turn = self._listener.loop.call_soon(self._pour_on)

    def _next(self) -> None:
        if self.write_paused:
            return  # resume_writing comes back here
        if self._open is None and self._waiting:
            self._begin(self._waiting.pop(0))
        if not self._waiting and self._reading_paused and self._transport is not None:
            self._reading_paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()

    @property
    def idle(self) -> bool:
        return self._open is None

    @property
    def pouring(self) -> bool:
        return self._pieces is not None

    @property
    def stream(self) -> Exchange | None:
        return self._open if self._open is not None and self._open.streaming else None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _refuse_header(self) -> None:
        self._refuse(431, b"the request headers are larger than the limit of %d bytes" % HEADER_BYTES_MAX)

    def _refuse(self, status: int, message: bytes) -> None:
        if self._refused is None:
            self._refused = (status, message)

    def _send_refusal(self) -> None:
        assert self._refused is not None
        status, message = self._refused
        exchange = Exchange(self, b"GET", b"", {})
        exchange.keep_alive = False
        self._open = exchange
        self._listener.refuse(exchange, status, message.decode(errors="replace"))

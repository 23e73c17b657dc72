"""HTTP/1.1 on one connection: bytes in, Exchanges out, one write per answer.

The listener makes a ServerConnection per client; httptools parses. A complete request becomes an Exchange and is given
to the handler, which answers at once or later, from any callback on the loop: there is no task per request.
Requests of one connection are answered in order; while one is open the next ones wait unread. Everything is
bounded: header bytes, body bytes, what a client may send ahead. What the limits refuse is answered, then closed.

A body is read only of somebody who is known by the headers, and only if the budget for all bodies has room
(`budget.py`). A request of anybody else is handled as soon as its headers are there, without its body; then the
connection is closed, and nothing that follows on it is taken for a request.

Clients that keep a connection send the same headers again and again. A request that arrives in one piece, with a head
that is to the last byte that of the one before, is not parsed anew (`heads.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import httptools

from fairlead.api.access.impersonation import PREFIX as IMPERSONATE
from fairlead.wire.exchange import Exchange
from fairlead.wire.heads import Head, head_of

if TYPE_CHECKING:
    from fairlead.wire.listener import Listener

#: bound: requests | request body | 413, connection closed
BODY_BYTES_MAX = 3 * 1024 * 1024
#: bound: requests | request line and headers together | 431, connection closed
HEADER_BYTES_MAX = 64 * 1024
# So much of a stream waits encrypted for a client that does not read, beside the socket's own queue.
#: bound: connections | bytes of a stream encrypted ahead | no more are sent
STREAM_BYTES_AHEAD = 16 * 1024
# Answers below this size go out together with their headers.
_JOIN_BYTES_MAX = 256 * 1024
# So much of a long answer goes out before other connections have their turn.
_TURN_BYTES = 512 * 1024

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
# The bytes of a host and port (RFC 3986); what else stands in a Host header is no host.
_HOST = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:[]%!$&'()*+,;="


class _StopParsing(Exception):
    """What follows on this connection is not parsed."""


class ServerConnection(asyncio.Protocol):
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
        self._hosts = 0
        self._length = 0  # of the body, as announced
        self._is_chunked = False
        self._body: list[bytes] = []
        self._receiving: Exchange | None = None  # its headers are here, its body is on its way
        self._unread: Exchange | None = None  # the last request of this connection, whose body is not read
        self._continue_due = False  # the client waits to be told to send its body
        self._completed: Exchange | None = None  # the last one of the bytes that are being parsed
        self._head: Head | None = None  # of the last request, if it came whole and by itself

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
    def certificate(self) -> Mapping[str, Any] | None:
        return self._transport.get_extra_info("peercert") if self._transport is not None else None

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.left(self)
        exchange, self._open, self._pieces = self._open, None, None
        for each in (exchange, self._receiving, *self._waiting):
            if each is not None:
                self.release_body(each)
        self._receiving = None
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
        if self._refused is not None or self._unread is not None:
            return  # it is dropped
        head = self._head
        if head is not None and head.begins(data):
            self._receive_like(head, data)
        else:
            self._parse(data)
        if self._refused is not None and self._open is None and not self._waiting:
            self._send_refusal()

    def _parse(self, data: bytes) -> None:
        self._head = self._completed = None
        begins, before = self._is_between, self._messages
        message = self._messages if self._in_header else -1
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(400, b"this server does not upgrade connections")
        except httptools.HttpParserError as error:
            if self._unread is not None:
                self._dispatch(self._unread)
                return
            if self._refused is None:
                self._refuse(400, f"malformed HTTP request: {error}".encode())
        if self._in_header and message == self._messages:
            self._header_bytes += len(data)  # of a line without end the parser tells nothing
            if self._header_bytes > HEADER_BYTES_MAX:
                self._refuse_header()
        if begins and self._is_between and self._messages == before + 1 and self._refused is None:
            self._remember_head(data)
        self._completed = None

    @property
    def _is_between(self) -> bool:
        """All that came so far are whole requests."""
        return not self._in_header and self._receiving is None and self.began_at == 0.0

    def _remember_head(self, data: bytes) -> None:
        """One request came, and nothing else."""
        if self._completed is not None and not self._is_chunked:
            self._head = head_of(data, self._length, self._completed)

    def _receive_like(self, head: Head, data: bytes) -> None:
        exchange = Exchange(self, head.method, head.target, head.headers)
        exchange.impersonation = head.impersonation
        if head.length:
            owner = self._listener.owner_of_body(exchange)
            if owner is None:
                self._parse(data)
                return
            exchange.body_owner = owner
            if not self._take_room(exchange, head.length):
                return
            exchange.body = data[len(head.text) :]
        exchange.keep_alive = not self._listener.stopping
        self._messages += 1
        self._dispatch(exchange)

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
        self._header_bytes = self._hosts = self._length = 0
        self._is_chunked = False
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
            if name == b"authorization" and name in self._headers:
                self._refuse(400, b"the request has more than one Authorization header; send one")
            self._headers[name] = value
        elif name.startswith(IMPERSONATE):
            self._impersonation.append((name, value))
        elif name == b"host":
            self._hosts += 1
            if value.translate(None, _HOST):
                self._refuse(400, b"the Host header names no host")
        elif name == b"content-length":
            self._length = int(value)
        elif name == b"transfer-encoding":
            self._is_chunked = True
            if value.lower() != b"chunked":
                self._refuse(400, b"the only Transfer-Encoding that is understood is chunked")

    def on_headers_complete(self) -> None:
        self._in_header = False
        if self._hosts != 1 and (self._hosts or self._parser.get_http_version() != "1.0"):
            self._refuse(400, b"the request has %d Host headers; send one" % self._hosts)
        if self._refused is not None:
            return
        exchange = Exchange(self, self._parser.get_method(), self._target, self._headers)
        exchange.impersonation = self._impersonation
        if self._is_chunked or self._length:
            owner = self._listener.owner_of_body(exchange)
            if owner is None:
                exchange.body_unread, exchange.keep_alive = True, False
                self.began_at, self._unread = 0.0, exchange
                raise _StopParsing
            exchange.body_owner = owner
            if not self._take_room(exchange, self._length):
                return
            self._continue_due = self._headers.get(b"expect", b"").lower() == b"100-continue"
        self._receiving = exchange
        self._tell_to_continue()

    def _take_room(self, exchange: Exchange, size: int) -> bool:
        """Whether so many bytes more of its body may be read."""
        if exchange.body_bytes + size > BODY_BYTES_MAX:
            self._refuse(413, b"the request body is larger than the limit of %d bytes" % BODY_BYTES_MAX)
        elif not self._listener.bodies.take(exchange.body_owner, size):
            self._refuse(429, b"the bodies of requests take all the memory that there is for them; try again")
        else:
            exchange.body_bytes += size
            return True
        self._body.clear()
        self.release_body(exchange)
        self._receiving = None
        return False

    def release_body(self, exchange: Exchange) -> None:
        """Its body is not needed any more."""
        if exchange.body_bytes:
            self._listener.bodies.give_back(exchange.body_owner, exchange.body_bytes)
            exchange.body_bytes = 0

    def _tell_to_continue(self) -> None:
        """Answers come in order: who is to send a body is told so when all before it are out."""
        if self._continue_due and self._open is None and not self._waiting:
            self._continue_due = False
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        exchange = self._receiving
        if exchange is not None and (not self._is_chunked or self._take_room(exchange, len(body))):
            self._body.append(body)

    def on_message_complete(self) -> None:
        self.began_at = 0.0
        exchange, self._receiving = self._receiving, None
        if exchange is None:
            return  # it was refused
        self._continue_due = False
        parser = self._parser
        # We upgrade to nothing: the request is answered as it is, and what follows it is not HTTP.
        exchange.keep_alive = (
            parser.should_keep_alive() and not parser.should_upgrade() and not self._listener.stopping
        )
        if parser.get_http_version() == "1.0":
            exchange.chunked = False
        exchange.body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body = []
        self._completed = exchange
        self._dispatch(exchange)

    def _dispatch(self, exchange: Exchange) -> None:
        # A client that does not read the answers gets no further ones: they would gather here without bound.
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

    def bound_stream(self, *, streams: bool) -> None:
        """Hear early that the client of a stream does not read: what it was sent stays here until it does."""
        if self._transport is not None:
            self._transport.set_write_buffer_limits(high=STREAM_BYTES_AHEAD if streams else None)

    def write_pieces(self, pieces: list[memoryview]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(pieces)

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
        self.release_body(exchange)
        if exchange.streaming:
            self.bound_stream(streams=False)
        self.active_at = self._listener.now()
        if not exchange.keep_alive or self._listener.stopping:
            self.close()
        elif self._waiting:
            self._listener.loop.call_soon(self._next)
        elif self._refused is not None:
            self._send_refusal()
        else:
            self._tell_to_continue()

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

    def recognized(self) -> None:
        self._listener.recognized(self)

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

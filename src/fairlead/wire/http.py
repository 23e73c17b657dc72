"""HTTP/1.1 on one connection: bytes in, Exchanges out, one write per answer.

The listener makes a ServerConnection per client. A complete request becomes an Exchange (`receiving.py`) and is given
to the handler, which answers at once or later, from any callback on the loop: there is no task per request. Requests
of one connection are answered in order; while one is open the next ones wait unread. What a client may send ahead is
bounded; what the limits refuse is answered, then closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from fairlead.wire.exchange import Exchange
from fairlead.wire.receiving import RequestReader

if TYPE_CHECKING:
    from fairlead.wire.listener import Listener

# So much of a stream waits encrypted for a client that does not read, beside the socket's own queue.
#: bound: connections | bytes of a stream encrypted ahead | no more are sent
STREAM_BYTES_AHEAD = 16 * 1024
# Answers below this size go out together with their headers.
_JOIN_BYTES_MAX = 256 * 1024
# So much of a long answer goes out before other connections have their turn.
_TURN_BYTES = 64 * 1024


class ServerConnection(asyncio.Protocol):
    """One client. The listener owns the set of these and sweeps out the idle ones."""

    def __init__(self, listener: Listener, handle: Callable[[Exchange], None]) -> None:
        self._listener = listener
        self._handle = handle
        self._transport: asyncio.Transport | None = None
        self.requests = RequestReader(self, listener)
        self._open: Exchange | None = None  # being answered
        self._waiting: list[Exchange] = []  # parsed, not yet begun
        self._reading_paused = False
        self.write_paused = False
        self.resumed: Callable[[], None] | None = None  # a stream or a long answer that waits for room
        self._pieces: Iterator[bytes] | None = None  # what is left of a long answer
        self._turn: asyncio.Handle | None = None  # in which it goes on
        self.active_at = 0.0
        self.peer = ""
        # The client's, which TLS has verified before there is a connection, as `getpeercert` gives it.
        self.certificate: Mapping[str, Any] | None = None
        self.is_stranger = True  # nobody has signed in on it yet

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes, though they do all that these promise.
        self._transport = cast(asyncio.Transport, transport)
        peername = transport.get_extra_info("peername")
        self.peer = str(peername[0]) if peername else ""
        self.certificate = transport.get_extra_info("peercert")
        self._listener.joined(self)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._listener.loop

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.left(self)
        exchange, self._open, self._pieces = self._open, None, None
        for each in (exchange, *self._waiting):
            if each is not None:
                self.release_body(each)
        self.requests.end()
        self._waiting.clear()
        # These refer back to us: a circle would keep what was never read until a collection.
        del self.requests
        self._transport = self.resumed = None
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
        if exchange is not None:
            exchange.settle()
            if exchange.on_gone is not None:
                exchange.on_gone()

    def data_received(self, data: bytes) -> None:
        self.active_at = self._listener.now()
        requests = self.requests
        if requests.reads_no_more:
            return  # it is dropped
        requests.receive(data)
        if requests.refused is not None and self.is_free:
            self._refuse(*requests.refused)

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        if self.resumed is not None:
            self.resumed()
        elif self._open is None and self._waiting:
            self._listener.loop.call_soon(self._next)

    # Requests, in the order in which they came

    @property
    def is_free(self) -> bool:
        """Every request that came is answered."""
        return self._open is None and not self._waiting

    def dispatch(self, exchange: Exchange) -> None:
        # A client that does not read the answers gets no further ones: they would gather here without bound.
        if self._open is None and not self._waiting and not self.write_paused:
            self._open = exchange
            self._handle(exchange)
            return
        self._waiting.append(exchange)
        if not self._reading_paused and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()

    def release_body(self, exchange: Exchange) -> None:
        """Its body is not needed any more."""
        if exchange.body_bytes:
            self._listener.bodies.give_back(exchange.body_owner, exchange.body_bytes)
            exchange.body_bytes = 0

    # Answers

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
        if exchange.on_settled is not None:
            exchange.settle()
        if exchange.streaming:
            self.bound_stream(streams=False)
        self.active_at = self._listener.now()
        if not exchange.keep_alive or self._listener.stopping:
            self.close()
        elif self._waiting:
            self._listener.loop.call_soon(self._next)
        elif self.requests.refused is not None:
            self._refuse(*self.requests.refused)
        elif self.requests.continue_due:
            self.requests.tell_to_continue()

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
            self._open = self._waiting.pop(0)
            self._handle(self._open)
        if not self._waiting and self._reading_paused and self._transport is not None:
            self._reading_paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()

    def recognized(self) -> None:
        self.is_stranger = False
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

    def _refuse(self, status: int, message: bytes) -> None:
        exchange = Exchange(self, b"GET", b"", {})
        exchange.keep_alive = False
        self._open = exchange
        self._listener.refuse(exchange, status, message.decode(errors="replace"))

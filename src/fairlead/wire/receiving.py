"""Requests out of the bytes of one connection: parses, bounds, and hands over each as an Exchange.

The inward half of `http.py`, which makes one reader per connection and gives it all that arrives. Everything is
bounded: header bytes, body bytes, and the bodies of all connections together (`budget.py`). What the limits refuse is
kept in `refused` for the connection to answer, and nothing more is read.

A body is read only of somebody who is known by the headers. A request of anybody else is handed over as soon as its
headers are there, without its body, and nothing that follows is taken for a request.

Clients that keep a connection send the same headers again and again. A request that arrives in one piece, with a head
that is to the last byte that of the one before, is not parsed anew (`heads.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httptools

from fairlead.api.access.impersonation import PREFIX as IMPERSONATE
from fairlead.wire.exchange import Exchange
from fairlead.wire.heads import Head, head_of

if TYPE_CHECKING:
    from fairlead.wire.http import ServerConnection
    from fairlead.wire.listener import Listener

#: bound: requests | request body | 413, connection closed
BODY_BYTES_MAX = 3 * 1024 * 1024
#: bound: requests | request line and headers together | 431, connection closed
HEADER_BYTES_MAX = 64 * 1024
_KEPT = frozenset(
    (b"authorization", b"accept", b"accept-encoding", b"content-type", b"user-agent", b"expect", b"if-none-match",
     b"traceparent", b"x-request-id")
)  # fmt: skip
# The bytes of a host and port (RFC 3986); what else stands in a Host header is no host.
_HOST = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:[]%!$&'()*+,;="


class _StopParsing(Exception):
    """What follows on this connection is not parsed."""


class RequestReader:
    """What is known of the request that is on its way, and of the last one."""

    def __init__(self, connection: ServerConnection, listener: Listener) -> None:
        self._connection = connection
        self._listener = listener
        self._parser: Any = httptools.HttpRequestParser(self)
        self.refused: tuple[int, bytes] | None = None
        self.reads_no_more = False  # a request was refused, or has a body that is not read
        self.began_at = 0.0  # when the request that is being received began; 0: none is
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
        self.continue_due = False  # the client waits to be told to send its body
        self._completed: Exchange | None = None  # the last one of the bytes that are being parsed
        self._head: Head | None = None  # of the last request, if it came whole and by itself

    def receive(self, data: bytes) -> None:
        head = self._head
        if head is not None and head.begins(data):
            self._receive_like(head, data)
        else:
            self._parse(data)

    def end(self) -> None:
        """The connection is gone."""
        if self._receiving is not None:
            self._connection.release_body(self._receiving)
        self._receiving = self._parser = None  # the parser refers back to us

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
                self._connection.dispatch(self._unread)
                return
            if self.refused is None:
                self._refuse(400, f"malformed HTTP request: {error}".encode())
        if self._in_header and message == self._messages:
            self._header_bytes += len(data)  # of a line without end the parser tells nothing
            if self._header_bytes > HEADER_BYTES_MAX:
                self._refuse_header()
        if begins and self._is_between and self._messages == before + 1 and self.refused is None:
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
        exchange = Exchange(self._connection, head.method, head.target, head.headers)
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
        self._connection.dispatch(exchange)
        exchange.sender = None  # whoever has it wait asks anew

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
        if self.refused is not None:
            return
        exchange = Exchange(self._connection, self._parser.get_method(), self._target, self._headers)
        exchange.impersonation = self._impersonation
        if self._is_chunked or self._length:
            owner = self._listener.owner_of_body(exchange)
            if owner is None:
                exchange.body_unread, exchange.keep_alive = True, False
                self.began_at, self._unread, self.reads_no_more = 0.0, exchange, True
                raise _StopParsing
            exchange.body_owner = owner
            exchange.sender = None  # whoever gets it with its body asks anew
            if not self._take_room(exchange, self._length):
                return
            self.continue_due = self._headers.get(b"expect", b"").lower() == b"100-continue"
        self._receiving = exchange
        self.tell_to_continue()

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
        self._connection.release_body(exchange)
        self._receiving = None
        return False

    def tell_to_continue(self) -> None:
        """Answers come in order: who is to send a body is told so when all before it are out."""
        if self.continue_due and self._connection.is_free:
            self.continue_due = False
            self._connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        exchange = self._receiving
        if exchange is not None and (not self._is_chunked or self._take_room(exchange, len(body))):
            self._body.append(body)

    def on_message_complete(self) -> None:
        self.began_at = 0.0
        exchange, self._receiving = self._receiving, None
        if exchange is None:
            return  # it was refused
        self.continue_due = False
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
        self._connection.dispatch(exchange)

    def _refuse_header(self) -> None:
        self._refuse(431, b"the request headers are larger than the limit of %d bytes" % HEADER_BYTES_MAX)

    def _refuse(self, status: int, message: bytes) -> None:
        if self.refused is None:
            self.refused, self.reads_no_more = (status, message), True

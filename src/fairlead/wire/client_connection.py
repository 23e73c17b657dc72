"""One connection of `client.py`: bytes out, one answer at a time in, whole or as it comes.

httptools parses. A stream whose reader does not keep up stops reading from the network; an answer that is larger than
the bound is cut. The futures `head` and `whole` are of the request that was begun last.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from typing import Any, NamedTuple, cast

import httptools

ANSWER_BYTES_MAX = 64 * 1024 * 1024
_STREAM_AHEAD_BYTES = 1024 * 1024
_QUIET_SECONDS, _KNOCK_SECONDS, _KNOCKS = 15, 5, 3  # then the network to the server is taken to be gone


class Broken(Exception):
    """It was sent, and no whole answer came: whether anything happened is not known."""


class Answer(NamedTuple):
    status: int
    headers: dict[bytes, bytes]  # names in lower case
    body: bytes


class Connection(asyncio.Protocol):
    """One connection: one request at a time, its answer as futures."""

    def __init__(self, answer_bytes_max: int) -> None:
        loop = asyncio.get_running_loop()
        self._answer_bytes_max = answer_bytes_max
        self._transport: asyncio.Transport | None = None
        self._parser: Any = None
        self._streams = False
        self.head: asyncio.Future[int] = loop.create_future()
        self.whole: asyncio.Future[Answer] = loop.create_future()
        self.ahead: deque[bytes] = deque()
        self._ahead_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._paused = False
        self.heard = False
        self.usable = True
        self.used_at = 0.0
        self._open = False  # a request is being answered
        self._status = 0
        self._headers: dict[bytes, bytes] = {}
        self._size = 0

    def begin(self, message: bytes, *, streams: bool) -> None:
        loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._streams = streams
        self.head, self.whole = loop.create_future(), loop.create_future()
        self._headers, self._status, self._size = {}, 0, 0
        self.ahead.clear()
        self._ahead_bytes = 0
        self.heard = False
        self._open = True
        if self._transport is None or self._transport.is_closing():
            self._fail(Broken("the connection was closed"))
            return
        self._transport.write(message)

    def take(self) -> bytes:
        chunk = self.ahead.popleft()
        self._ahead_bytes -= len(chunk)
        if self._paused and self._ahead_bytes < _STREAM_AHEAD_BYTES // 2 and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return chunk

    async def more(self) -> None:
        """Until there are bytes or the end."""
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def abort(self) -> None:
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes, though they do all that these promise.
        self._transport = cast(asyncio.Transport, transport)
        wire = transport.get_extra_info("socket")
        if wire is not None:
            _watch_the_network(wire)

    def data_received(self, data: bytes) -> None:
        if not self._open:
            self.abort()  # nobody asked
            return
        self.heard = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(Broken(f"the answer is not HTTP: {error}"))
            self.abort()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.usable = False
        framed = self._headers.keys() & {b"content-length", b"transfer-encoding"}
        if self._open and self.head.done() and not framed and exc is None:
            self._complete()  # such an answer ends with its connection
        self._fail(Broken(f"the connection was lost: {exc}" if exc else "the connection was closed"))
        self._parser = self._transport = None

    # httptools

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        if self._status >= 200 and not self.head.done():
            self.head.set_result(self._status)

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        self.ahead.append(body)
        if not self._streams:
            if self._size > self._answer_bytes_max:
                self._fail(Broken(f"the answer is larger than {self._answer_bytes_max} bytes"))
                self.abort()
            return
        self._ahead_bytes += len(body)
        if self._ahead_bytes > _STREAM_AHEAD_BYTES and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        if self._status < 200:
            self._headers = {}  # 1xx: the answer itself is to come
            return
        if not self._parser.should_keep_alive():
            self.usable = False
        self._complete()

    def _complete(self) -> None:
        self._open = False
        if not self.whole.done():
            body = b"" if self._streams else b"".join(self.ahead)
            self.whole.set_result(Answer(self._status, self._headers, body))
            if not self._streams:
                self.ahead.clear()
        self._wake()

    def _fail(self, error: Broken) -> None:
        if not self._open:
            return
        self._open = self.usable = False
        for future in (self.head, self.whole):
            if not future.done():
                future.set_exception(error)
                future.exception()  # whoever does not wait for it any more has not forgotten it
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _watch_the_network(wire: socket.socket) -> None:
    """A stream may be silent for long: the system asks now and then whether the other machine is still there."""
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", _QUIET_SECONDS),
        ("TCP_KEEPINTVL", _KNOCK_SECONDS),
        ("TCP_KEEPCNT", _KNOCKS),
    ):
        if hasattr(socket, name):
            wire.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

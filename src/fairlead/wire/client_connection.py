"""One connection of `client.py`: bytes out, one answer at a time in.

`client_protocol.AnswerReader` reads; whoever waits for a part of the answer looks there, and calls `more` until it has
come. A stream whose reader does not keep up stops reading from the network.
"""

from __future__ import annotations

import asyncio
import socket
from typing import cast

from fairlead.wire.client_protocol import AnswerReader, Broken

_STREAM_AHEAD_BYTES = 1024 * 1024
_QUIET_SECONDS, _KNOCK_SECONDS, _KNOCKS = 15, 5, 3  # then the network to the server is taken to be gone


class ClientConnection(asyncio.Protocol):
    """`reader`: of the answer to the request that was begun last."""

    def __init__(self) -> None:
        self.reader = AnswerReader(0)
        self.reader.complete = True  # nothing was asked yet
        self.usable = True
        self.used_at = 0.0
        self._transport: asyncio.Transport | None = None
        self._error: Broken | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._paused = False

    def begin(self, message: bytes, answer_bytes_max: int) -> None:
        """0 for a stream: of that a bounded part is held, however long it is."""
        self.reader = AnswerReader(answer_bytes_max)
        if self._transport is None or self._transport.is_closing():
            self._error = self._error or Broken("the connection was closed")
        else:
            self._transport.write(message)

    async def more(self) -> None:
        """Until more of the answer has come; Broken if nothing more will."""
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def take(self) -> bytes:
        """What a stream holds; b"" if that is nothing."""
        self._pause(False)
        return self.reader.take()

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
        reader = self.reader
        if reader.complete:
            self.abort()  # nobody asked
            return
        try:
            reader.feed(data)
        except Broken as error:
            self._error = error
            self.abort()
        if reader.complete:
            self.usable = self.usable and reader.keeps_open
        elif reader.streams and reader.held_bytes > _STREAM_AHEAD_BYTES:
            self._pause(True)
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.usable = False
        self._transport = None
        try:
            if exc is not None:
                raise Broken(f"the connection was lost: {exc}")
            self.reader.end()
        except Broken as error:
            self._error = self._error or error
        self._wake()

    def _pause(self, paused: bool) -> None:
        if self._transport is not None and paused is not self._paused:
            self._paused = paused
            self._transport.pause_reading() if paused else self._transport.resume_reading()

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

"""The listening sockets, and the connections that have not finished TLS: counted, bounded in number and in time.

Made by the listener, which gets each connection once its handshake is complete. A client that stays silent, or sends
its handshake byte by byte, costs a place here for HANDSHAKE_SECONDS at most. When all places are taken, the oldest
handshakes that have had HANDSHAKE_PATIENCE_SECONDS give way to new connections; until then these wait in the backlog. A
process that runs out of file descriptors stops accepting for a moment instead of failing.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial

log = logging.getLogger("fairlead.wire")

#: bound: connections | connections that have not finished TLS | the oldest gives way
HANDSHAKES_MAX = 512
#: bound: connections | TLS must be finished within | the client is cut
HANDSHAKE_SECONDS = 10.0
#: bound: connections | a handshake does not give way for | new ones wait in the backlog
HANDSHAKE_PATIENCE_SECONDS = 1.0
# A client that does not take its leave (TLS asks both sides to) after the last answer is cut after so long; what it
# still sends in the meantime is read and dropped, so that it can read why it was refused.
#: bound: connections | after the last answer a client must leave within | it is cut
CLOSING_SECONDS = 5.0
#: bound: connections | a server without file descriptors accepts again after | -
ACCEPT_AGAIN_SECONDS = 0.5
#: bound: connections | connections that wait to be accepted | they wait longer
BACKLOG_MAX = 1024
_ACCEPTED_AT_ONCE_MAX = 16
_OUT_OF_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Acceptor:
    """`arrive` makes the protocol of a connection; `has_room` says whether one more can be served, and makes room
    if it can."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        arrive: Callable[[], asyncio.Protocol],
        has_room: Callable[[], bool],
        handshakes_max: int,
    ) -> None:
        self._loop = loop
        self._arrive = arrive
        self._has_room = has_room
        self._handshakes_max = handshakes_max
        self._sockets: list[socket.socket] = []
        self.tls: ssl.SSLContext | None = None  # of handshakes that begin from now on
        self._handshakes: dict[asyncio.Task[None], float] = {}  # and when they began, oldest first
        self._resting: asyncio.TimerHandle | None = None  # no connection is accepted until then
        self._out_of_files = False
        self.ended = 0  # handshakes that were not completed

    def __len__(self) -> int:
        return len(self._handshakes)

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Begin to accept; returns the port, which is chosen by the system if `port` is 0."""
        self.tls = tls
        found = await self._loop.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        try:
            for family, kind, protocol, _, address in dict.fromkeys(found):
                self._sockets.append(_bound(family, kind, protocol, (address[0], port, *address[2:])))
                port = self._sockets[0].getsockname()[1]
        except BaseException:
            self.close()
            raise
        for each in self._sockets:
            self._loop.add_reader(each, self._acceptable, each)
        return port

    def close(self) -> None:
        """Accept no more, and end the handshakes."""
        if self._resting is not None:
            self._resting.cancel()
        for each in self._sockets:
            self._loop.remove_reader(each)
            each.close()
        self._sockets.clear()
        for task in list(self._handshakes):
            task.cancel()

    def _acceptable(self, listening: socket.socket) -> None:
        for _ in range(_ACCEPTED_AT_ONCE_MAX):
            if self._resting is not None or not self._sockets:
                return
            if len(self._handshakes) >= self._handshakes_max and not self._end_the_oldest():
                return
            try:
                client, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_ROOM:
                    raise
                log.warning("no connection can be accepted for a moment: %s", error.strerror)
                self._out_of_files = True
                self._rest(ACCEPT_AGAIN_SECONDS)
                return
            if not self._has_room():
                client.close()
                continue
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = self._loop.create_task(self._shake_hands(client))
            self._handshakes[task] = self._loop.time()
            task.add_done_callback(partial(self._completed, client))

    def _completed(self, client: socket.socket, task: asyncio.Task[None]) -> None:
        self._handshakes.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if task.cancelled() or error is not None:  # gave way to another; no TLS at all, too slow, or gone
            self.ended += 1
            client.close()
        if error is not None and not isinstance(error, OSError):
            log.error("a connection could not be accepted", exc_info=error)
        if self._resting is not None and not self._out_of_files:
            self._resting.cancel()
            self._go_on()

    def _end_the_oldest(self) -> bool:
        """Make a place for a new handshake; False if all of them began just now, and new ones must wait."""
        task, began = next(iter(self._handshakes.items()))
        left = began + HANDSHAKE_PATIENCE_SECONDS - self._loop.time()
        if left > 0:
            self._rest(left)
            return False
        del self._handshakes[task]
        task.cancel()
        return True

    async def _shake_hands(self, client: socket.socket) -> None:
        await self._loop.connect_accepted_socket(
            self._arrive,
            client,
            ssl=self.tls,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if self.tls is not None else None,
            ssl_shutdown_timeout=CLOSING_SECONDS if self.tls is not None else None,
        )

    def _rest(self, seconds: float) -> None:
        for each in self._sockets:
            self._loop.remove_reader(each)
        self._resting = self._loop.call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        self._resting, self._out_of_files = None, False
        for each in self._sockets:
            self._loop.add_reader(each, self._acceptable, each)


def _bound(family: int, kind: int, protocol: int, address: tuple[object, ...]) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            with contextlib.suppress(OSError):
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(BACKLOG_MAX)
    except BaseException:
        made.close()
        raise
    return made

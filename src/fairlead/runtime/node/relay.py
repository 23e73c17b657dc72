"""One proxied connection: bytes go both ways between a client and one of the backends.

    accepted ──> connecting ──> relaying ──> one side ended: the other still goes on ──> closed
                    │  refused or late: the next backend; no further one: the client gets a reset

Made by `service_proxy.py` for every connection it accepts. On sockets and the loop's readers and writers, without tasks
and streams: what one side sent is handed to the other in the same callback. A sink that does not keep up stops its
source (at most BUFFER_BYTES wait); an end of one direction is passed on as such and leaves the other alone.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
from collections.abc import Callable, Iterable

from fairlead.agent.contract import Backend

#: bound: plane | bytes that wait in it, per connection and direction | the sender waits
BUFFER_BYTES = 128 * 1024
#: bound: plane | a pod must take a connection within | the next is tried
CONNECT_SECONDS = 3.0
_UNDER_WAY = (errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY)
_NO_LINGER = struct.pack("ii", 1, 0)


class _Flow:
    """One direction."""

    __slots__ = ("ended", "sink", "source", "waiting")

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source, self.sink = source, sink
        self.waiting = memoryview(b"")  # read, not written yet
        self.ended = False


class Relay:
    __slots__ = (
        "_buffer", "_client", "_ended", "_flows", "_loop", "_retried", "_server", "_timer", "_unserved", "_untried",
    )  # fmt: skip

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        buffer: memoryview,
        client: socket.socket,
        backends: Iterable[Backend],
        retried: Callable[[], None],
        unserved: Callable[[], None],
        ended: Callable[[Relay], None],
    ) -> None:
        """`retried`: a backend did not take it; `unserved`: none did, and the client is told so by a reset. `buffer` is
        shared by all relays of a loop: nothing stays in it between two callbacks."""
        self._loop, self._buffer, self._client = loop, buffer, client
        self._untried = list(reversed(tuple(backends)))
        self._retried, self._unserved, self._ended = retried, unserved, ended
        self._server: socket.socket | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._flows: tuple[_Flow, ...] = ()

    # Finding a backend

    def start(self) -> None:
        while self._untried:
            backend = self._untried.pop()
            try:
                server = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            except OSError:
                break  # too many files: no further backend helps
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._server = server
            try:
                error = server.connect_ex((backend.address, backend.port))
            except (OSError, OverflowError) as problem:  # not an address, not a port
                error = getattr(problem, "errno", None) or errno.EINVAL
            if error == 0:
                self._join(server)
                return
            if error in _UNDER_WAY:
                self._loop.add_writer(server, self._connected)
                self._timer = self._loop.call_later(CONNECT_SECONDS, self._next)
                return
            self._drop_server()
        self._unserved()
        self.reset()

    def _connected(self) -> None:
        server = self._server
        assert server is not None
        if server.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._next()
            return
        self._loop.remove_writer(server)
        self._stop_timer()
        self._join(server)

    def _next(self) -> None:
        """This one did not take the connection."""
        self._drop_server()
        self.start()

    def _drop_server(self) -> None:
        if self._server is not None:
            self._stop_timer()
            self._loop.remove_writer(self._server)
            self._server.close()
            self._server = None
            self._retried()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _join(self, server: socket.socket) -> None:
        self._flows = (_Flow(self._client, server), _Flow(server, self._client))
        for flow in self._flows:
            self._loop.add_reader(flow.source, self._readable, flow)

    # Relaying

    def _readable(self, flow: _Flow) -> None:
        try:
            size = flow.source.recv_into(self._buffer)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.reset()
            return
        if not size:
            self._end(flow)
            return
        try:
            sent = flow.sink.send(self._buffer[:size])
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._break(flow)
            return
        if sent < size:
            flow.waiting = memoryview(bytes(self._buffer[sent:size]))
            self._loop.remove_reader(flow.source)
            self._loop.add_writer(flow.sink, self._writable, flow)

    def _writable(self, flow: _Flow) -> None:
        try:
            sent = flow.sink.send(flow.waiting)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._break(flow)
            return
        flow.waiting = flow.waiting[sent:]
        if not flow.waiting:
            self._loop.remove_writer(flow.sink)
            self._loop.add_reader(flow.source, self._readable, flow)

    def _end(self, flow: _Flow) -> None:
        """The source has no more to say: neither have we."""
        self._loop.remove_reader(flow.source)
        flow.ended = True
        try:
            flow.sink.shutdown(socket.SHUT_WR)
        except OSError:
            self.reset()
            return
        self._close_if_ended()

    def _break(self, flow: _Flow) -> None:
        """The sink takes no more. What it still has to say is passed on; that it is gone shows when it is read."""
        self._loop.remove_writer(flow.sink)
        self._loop.remove_reader(flow.source)
        flow.waiting = memoryview(b"")
        flow.ended = True
        self._close_if_ended()

    def _close_if_ended(self) -> None:
        if all(flow.ended for flow in self._flows):
            self._close()

    def reset(self) -> None:
        """End it so that both sides notice that it did not end by itself."""
        for each in (self._client, self._server):
            if each is not None:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._close()

    def _close(self) -> None:
        self._stop_timer()
        for each in (self._client, self._server):
            if each is not None:
                self._loop.remove_reader(each)
                self._loop.remove_writer(each)
                each.close()
        self._ended(self)

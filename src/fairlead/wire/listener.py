"""The listening socket: accepts connections, counts them, sweeps out the idle, and stops without losing answers.

Stopping is in three steps: no new connections; streams are ended cleanly and open requests answered; what is
left after the grace is cut.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from weakref import WeakSet

from fairlead.wire.http import Connection, Exchange

CONNECTIONS_MAX = 8192
IDLE_SECONDS = 180.0
REQUEST_SECONDS = 60.0  # in which a request must have arrived whole
_SWEEP_SECONDS = 10.0
# Who does not take leave (TLS asks both sides to) once all is answered holds up the end no longer than this.
_FAREWELL_SECONDS = 1.0


class Listener:
    """`handle` gets every request; `refuse` every request that never became one."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        handle: Callable[[Exchange], None],
        refuse: Callable[[Exchange, int, str], None],
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        self.loop = loop
        self.now = loop.time
        self.stopping = False
        self.farewell_seconds = _FAREWELL_SECONDS
        self._handle = handle
        self.refuse = refuse
        self._connections: dict[Connection, None] = {}
        self._connections_max = connections_max
        # Accepted, and not yet through with TLS: nobody can close these but their clients.
        self.arriving: WeakSet[Connection] = WeakSet()
        self._server: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Begin to accept; returns the port, which is chosen by the system if `port` is 0."""
        self._server = await self.loop.create_server(
            self._arrive, host, port, ssl=tls, backlog=1024, reuse_address=True
        )
        self._sweep = self.loop.call_later(_SWEEP_SECONDS, self._sweep_idle)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    def _arrive(self) -> Connection:
        connection = Connection(self, self._handle)
        self.arriving.add(connection)
        return connection

    def joined(self, connection: Connection) -> None:
        self.arriving.discard(connection)
        connection.active_at = self.now()
        if len(self._connections) >= self._connections_max or self.stopping:
            connection.abort()
            return
        self._connections[connection] = None

    def left(self, connection: Connection) -> None:
        self._connections.pop(connection, None)

    def __len__(self) -> int:
        return len(self._connections)

    def _sweep_idle(self) -> None:
        now = self.now()
        for connection in list(self._connections):
            quiet = connection.active_at < now - IDLE_SECONDS
            dawdling = 0.0 < connection.began_at < now - REQUEST_SECONDS
            if (quiet and connection.idle) or dawdling:
                connection.close()
            elif quiet and connection.pouring:
                connection.abort()  # it stopped reading in the middle of an answer
        self._sweep = self.loop.call_later(_SWEEP_SECONDS, self._sweep_idle)

    def cut_streams(self) -> None:
        """As a network does that fails: no stream is told that it ends."""
        for connection in list(self._connections):
            if connection.stream is not None:
                connection.abort()

    def cut_all(self) -> None:
        """As the end of the process does: nothing is accepted any more, and nobody is told."""
        self._accept_no_more()
        for connection in list(self._connections):
            connection.abort()

    async def stop(self, grace_seconds: float) -> None:
        """`handle` must refuse to open streams from now on; open ones were ended by their owner."""
        self._accept_no_more()
        deadline = self.now() + grace_seconds
        answered_at = self.now()
        while self._connections and self.now() < min(deadline, answered_at + self.farewell_seconds):
            for connection in list(self._connections):
                if connection.idle:
                    connection.close()
                else:
                    answered_at = self.now()
            await asyncio.sleep(0.02)
        self.cut_all()

    def _accept_no_more(self) -> None:
        self.stopping = True
        if self._sweep is not None:
            self._sweep.cancel()
        if self._server is not None:
            self._server.close()

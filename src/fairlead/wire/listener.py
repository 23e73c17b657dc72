"""All connections of a server: counts them, sweeps out the idle, and stops without losing answers.

`accepting.py` hands over those that are through with TLS. There is room for as many as the process may open files, less
a reserve. When it is used up, the oldest connection gives way on which nobody has signed in yet: strangers cannot keep
out those who are known. Stopping is in three steps: no new connections; streams are ended cleanly and open requests
answered; what is left after the grace is cut.
"""

from __future__ import annotations

import asyncio
import resource
import ssl
from collections.abc import Callable

from fairlead.wire.accepting import HANDSHAKES_MAX, Acceptor
from fairlead.wire.budget import ByteBudget
from fairlead.wire.exchange import Exchange
from fairlead.wire.http import ServerConnection

#: bound: connections | open connections | the oldest without a known user gives way; else the new one is closed
CONNECTIONS_MAX = 8192
#: bound: requests | bodies of all requests together | 429 to a user who holds as much as is still free
BODIES_BYTES_MAX = 64 * 1024 * 1024
#: bound: connections | an idle connection is kept for | it is closed
IDLE_SECONDS = 180.0
#: bound: connections | a request must have arrived within | it is closed
REQUEST_SECONDS = 60.0  # in which a request must have arrived whole
# File descriptors that connections leave to the store, logs, backups and what the plane asks of nodes.
#: bound: connections | file descriptors that connections leave to the rest | the same
FILES_RESERVED = 64
_SWEEP_SECONDS = 10.0
# A client that does not take leave (TLS asks both sides to) once all is answered holds up the end no longer than this.
_FAREWELL_SECONDS = 1.0


class Listener:
    """`handle` gets every request; `refuse` every request that never became one. `owner_of_body` says on the headers
    alone who sends a body; None: nobody who is known, and the body is not read."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        handle: Callable[[Exchange], None],
        refuse: Callable[[Exchange, int, str], None],
        owner_of_body: Callable[[Exchange], str | None],
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        self.loop = loop
        self.now = loop.time
        self.stopping = False
        self.farewell_seconds = _FAREWELL_SECONDS
        self._handle = handle
        self.refuse = refuse
        self.owner_of_body = owner_of_body
        self.bodies = ByteBudget(BODIES_BYTES_MAX)
        self._connections: dict[ServerConnection, None] = {}
        self._strangers: dict[ServerConnection, None] = {}  # nobody has signed in on these yet; oldest first
        self._connections_max = max(2, min(connections_max, _files_max() - FILES_RESERVED))
        self._handshakes_max = min(HANDSHAKES_MAX, self._connections_max // 2)
        self.arriving = Acceptor(loop, self._arrive, self._has_room, self._handshakes_max)
        self.displaced = 0  # strangers that gave way
        self._sweep: asyncio.TimerHandle | None = None

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Begin to accept; returns the port, which is chosen by the system if `port` is 0."""
        bound = await self.arriving.listen(host, port, tls)
        self._sweep = self.loop.call_later(_SWEEP_SECONDS, self._sweep_idle)
        return bound

    def _arrive(self) -> ServerConnection:
        return ServerConnection(self, self._handle)

    def _has_room(self) -> bool:
        if len(self._connections) + len(self.arriving) < self._connections_max:
            return True
        for connection in self._strangers:
            if connection.idle:
                self.displaced += 1
                connection.abort()
                # It leaves in a later turn of the loop; its place is given away now.
                self.left(connection)
                return True
        return False

    def joined(self, connection: ServerConnection) -> None:
        connection.active_at = self.now()
        if self.stopping:
            connection.abort()
            return
        self._connections[connection] = self._strangers[connection] = None

    def recognized(self, connection: ServerConnection) -> None:
        """Somebody has signed in on it."""
        self._strangers.pop(connection, None)

    def left(self, connection: ServerConnection) -> None:
        self._connections.pop(connection, None)
        self._strangers.pop(connection, None)

    def __len__(self) -> int:
        return len(self._connections)

    def _sweep_idle(self) -> None:
        now = self.now()
        for connection in list(self._connections):
            quiet = connection.active_at < now - IDLE_SECONDS
            dawdling = 0.0 < connection.requests.began_at < now - REQUEST_SECONDS
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
        self.arriving.close()


def _files_max() -> int:
    """How many file descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS_MAX + FILES_RESERVED if soft == resource.RLIM_INFINITY else soft

"""The node's proxy: listens where Services are, on the loopback network, and passes connections on to their pods.

`runtime/node/driver.py` hands it all routes whenever they change (`agent/services.py`). A route that stays keeps its
listener, one that goes closes it; connections that live go on whatever becomes of their route. Backends take turns by
their weights (`agent/backend_turns.py`); one that refuses is passed over (`relay.py`). A route without backends is
listened to all the same, and a connection to it reset: otherwise it could reach whoever listens on that port of all
addresses.

Where the address is in use, another agent of this machine serves it, with the same routes; it is taken over a moment
after that one ends. One of the addresses that others hold is tried every TAKE_OVER_SECONDS, and all of them as soon as
one could be taken. They are not shared (SO_REUSEPORT): an agent that is stopped, and does not end, would keep its share
of the connections waiting. Where somebody has the port on all addresses, or it may not be bound (ports below 1024, for
users without that right), it is tried again every few seconds, and that is said. Bounds: CONNECTIONS_MAX connections,
each with the buffers of its relay; above, new ones wait in the listeners' backlogs.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from fairlead.agent.backend_turns import BackendTurns
from fairlead.agent.contract import Route
from fairlead.runtime.node.relay import BUFFER_BYTES, Relay

#: bound: plane | connections through a node's proxy | they wait
CONNECTIONS_MAX = 1024
_OWN_SERVICE = "default/kubernetes:"  # the server's, at port 443, which only some users may have
#: bound: plane | connections that wait for it, per port | they wait longer
BACKLOG_MAX = 256
#: bound: plane | a port in use is tried again every | -
BIND_AGAIN_SECONDS = 3.0
#: bound: plane | of the ports that other agents have, one is tried every | -
TAKE_OVER_SECONDS = 0.05
#: bound: plane | a proxy without room accepts again after | -
ACCEPT_AGAIN_SECONDS = 0.5
_ACCEPTED_AT_ONCE_MAX = 16
_OUT_OF_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_NOBODYS = "127.95.255.254"  # neither a pod's address nor a Service's

SocketAddress = tuple[str, int]


class ServiceCounts:
    """Of one port of one Service: connections, and those that nobody took, with endpoints or without."""

    __slots__ = ("accepted", "no_endpoint", "unanswered")

    def __init__(self) -> None:
        self.accepted = self.no_endpoint = self.unanswered = 0


class _Listener:
    __slots__ = ("counts", "route", "socket", "turns")

    def __init__(self, route: Route) -> None:
        self.route = route
        self.socket: socket.socket | None = None  # None: it could not be bound yet
        self.turns = BackendTurns(route.backends)
        self.counts = ServiceCounts()

    def lead(self, route: Route) -> None:
        self.route = route
        self.turns.use(route.backends)


class ServiceProxy:
    """All of it runs on one loop; none of its methods waits."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        tell: Callable[[str], None],
        connections_max: int = CONNECTIONS_MAX,
        mention: Callable[[str], None] = lambda told: None,
    ) -> None:
        """`tell` gets a sentence for whoever runs the node when a port cannot be had, once per port and reason;
        `mention` gets it instead where that is the port of a Service that nobody asked for."""
        self._loop, self._tell, self._mention = loop, tell, mention
        self._connections_max = connections_max
        self._listeners: dict[SocketAddress, _Listener] = {}
        self._relays: set[Relay] = set()
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._timer: asyncio.TimerHandle | None = None
        self._probe_timer: asyncio.TimerHandle | None = None
        self._probed = 0  # how often one was tried that another has
        self._told: dict[SocketAddress, int] = {}
        self._resting = False  # as many connections as there may be, or the machine has no room for more
        self._closed = False
        self.retried = 0  # a plain count for metrics

    @property
    def connections(self) -> int:
        return len(self._relays)

    def counts(self) -> Iterator[tuple[str, ServiceCounts]]:
        """By Service and port, of those that had a connection since their route came."""
        for each in self._listeners.values():
            if each.counts.accepted:
                yield each.route.service, each.counts

    def serve(self, routes: Iterable[Route]) -> None:
        """These are all routes from now on."""
        if self._closed:
            return
        wanted: dict[SocketAddress, Route] = {}
        for route in routes:
            wanted.setdefault((route.address, route.port), route)
        for place in self._listeners.keys() - wanted.keys():
            self._stop(self._listeners.pop(place))
            self._told.pop(place, None)
        for place, route in wanted.items():
            found = self._listeners.get(place)
            if found is None:
                self._listeners[place] = _Listener(route)
            else:
                found.lead(route)
        self._bind()

    def close(self) -> None:
        """End every connection and listen nowhere."""
        self._closed = True
        for timer in (self._timer, self._probe_timer):
            if timer is not None:
                timer.cancel()
        for listener in self._listeners.values():
            self._stop(listener)
        self._listeners.clear()
        for relay in tuple(self._relays):
            relay.reset()

    # Listening

    def _bind(self) -> None:
        """Whatever is not bound yet, now; and what cannot be, later."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        missing = False
        for place, listener in self._listeners.items():
            if listener.socket is None:
                listener.socket = self._bound(place, listener.route)
                if listener.socket is None:
                    missing = True
                else:
                    self._told.pop(place, None)
                    if not self._resting:
                        self._loop.add_reader(listener.socket, self._acceptable, listener)
        if missing:
            self._timer = self._loop.call_later(BIND_AGAIN_SECONDS, self._bind)
            if self._probe_timer is None:
                self._probe_timer = self._loop.call_later(TAKE_OVER_SECONDS, self._probe)

    def _probe(self) -> None:
        """One after the other of what others have: the end of whoever has it is noticed at once, at little cost."""
        self._probe_timer = None
        held = [place for place, each in self._listeners.items() if each.socket is None]
        if not held:
            return
        self._probed += 1
        if _is_free(held[self._probed % len(held)]):
            self._bind()
        else:
            self._probe_timer = self._loop.call_later(TAKE_OVER_SECONDS, self._probe)

    def _bound(self, place: SocketAddress, route: Route) -> socket.socket | None:
        made: socket.socket | None = None
        try:
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            # A listener that was closed a moment ago leaves connections behind that are still ending.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(place)
            made.listen(BACKLOG_MAX)
        except (OSError, OverflowError) as error:
            if made is not None:
                made.close()
            number = getattr(error, "errno", None) or errno.EINVAL
            if self._told.get(place) != number and not (
                number == errno.EADDRINUSE and _is_free_elsewhere(place[1])
            ):
                self._told[place] = number
                expected = isinstance(error, PermissionError) and route.service.startswith(_OWN_SERVICE)
                (self._mention if expected else self._tell)(_sentence(place, route, error))
            return None
        return made

    def _stop(self, listener: _Listener) -> None:
        if listener.socket is not None:
            self._loop.remove_reader(listener.socket)
            listener.socket.close()
            listener.socket = None

    # Connections

    def _acceptable(self, listener: _Listener) -> None:
        for _ in range(_ACCEPTED_AT_ONCE_MAX):
            if listener.socket is None or self._resting:
                return
            try:
                client, _ = listener.socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in _OUT_OF_ROOM:
                    self._rest()
                    self._loop.call_later(ACCEPT_AGAIN_SECONDS, self._go_on)
                return
            self._take(client, listener)

    def _take(self, client: socket.socket, listener: _Listener) -> None:
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.counts.accepted += 1
        backends = listener.turns.next()
        unserved = partial(_count_unserved, listener.counts, has_backends=bool(backends))
        relay = Relay(self._loop, self._buffer, client, backends, self._passed_over, unserved, self._ended)
        self._relays.add(relay)
        if len(self._relays) >= self._connections_max:
            self._rest()
        relay.start()

    def _passed_over(self) -> None:
        self.retried += 1

    def _ended(self, relay: Relay) -> None:
        self._relays.discard(relay)
        if self._resting:
            self._go_on()

    def _rest(self) -> None:
        self._resting = True
        for listener in self._listeners.values():
            if listener.socket is not None:
                self._loop.remove_reader(listener.socket)

    def _go_on(self) -> None:
        if self._closed or not self._resting or len(self._relays) >= self._connections_max:
            return
        self._resting = False
        for listener in self._listeners.values():
            if listener.socket is not None:
                self._loop.add_reader(listener.socket, self._acceptable, listener)


def _count_unserved(counts: ServiceCounts, *, has_backends: bool) -> None:
    if has_backends:
        counts.unanswered += 1
    else:
        counts.no_endpoint += 1


def _is_free_elsewhere(port: int) -> bool:
    """Then it is in use at that very address: another agent of this machine serves it, which is as it should be."""
    return _is_free((_NOBODYS, port))


def _is_free(place: SocketAddress) -> bool:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(place)
    except (OSError, OverflowError):
        return False
    return True


def _sentence(place: SocketAddress, route: Route, error: Exception) -> str:
    address, port = place
    why = getattr(error, "strerror", None) or str(error)
    text = f"Service {route.service} is not served on {address}:{port}: {why}"
    if getattr(error, "errno", None) == errno.EADDRINUSE:
        text += (
            f"; another process has port {port} of all addresses: end it, or give the Service another port"
        )
    elif isinstance(error, PermissionError) and port < 1024:
        text += (
            "; give the Service a port of 1024 or more, or allow lower ones to everybody with "
            "`sysctl net.ipv4.ip_unprivileged_port_start=0`"
        )
    return text

"""Connections in memory: bytes that arrive in pieces, late, up to a chosen one, or only one way.

`Network` stands in for TCP below asyncio's transports: a client's `create_connection` meets what serves at that address.
Each connection draws, when it is made, whether and after how many bytes it is cut, falls silent, or is closed for one
direction only. Between those the order of bytes is TCP's: nothing is lost, repeated or overtaken in a connection that
lives. What a protocol is told, it is told in the context of its own end, as by asyncio's transports.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

from fairlead.sim.chance import Stream
from tests.deterministic.loop import DeterministicLoop

_SILENT_SECONDS = (
    30.0  # until the system's own look at the connection finds nobody (`wire/client_connection.py`)
)
_BYTES_UNTIL = 6_000
_HIGH = 64 * 1024


@dataclass(frozen=True, slots=True)
class NetworkFaults:
    """How often a connection meets each."""

    refused: float = 0.0
    cut: float = 0.0  # both sides see it, bytes on their way are lost
    silent: float = 0.0  # nothing arrives any more, and nobody is told for half a minute
    half_closed: float = 0.0  # one side hears that the other is done, and may still send
    slow: float = 0.0  # pieces of a few bytes


CALM = NetworkFaults()


class Network:
    def __init__(self, loop: DeterministicLoop, faults: NetworkFaults = CALM) -> None:
        self.loop = loop
        self.faults = faults
        self.connections: list[_Connection] = []
        self._serving: dict[tuple[str, int], tuple[Callable[[], asyncio.Protocol], Context]] = {}
        self._made = 0
        loop.connect = self._connect

    def serve(self, host: str, port: int, arrive: Callable[[], asyncio.Protocol]) -> None:
        self._serving[host, port] = arrive, copy_context()

    def close(self, host: str, port: int) -> None:
        """Nobody serves there, from now on. What is open stays."""
        self._serving.pop((host, port), None)

    async def _connect(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        chance = self.loop.chance
        await asyncio.sleep(chance.stream("connect.delay").choose(5) / 1000)
        serving = self._serving.get((host, port))
        if serving is None or chance.faults("connect.refused").happens(self.faults.refused):
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        self._made += 1
        arrive, context = serving
        far = context.copy()
        connection = _Connection(self, self._made, factory(), far.run(arrive), far)
        self.connections.append(connection)
        return connection.near, connection.near.protocol

    def heal(self) -> None:
        """No new trouble; connections that have some in store are cut now."""
        self.faults = CALM
        for connection in list(self.connections):
            if connection.doomed:
                connection.cut()


class _Connection:
    def __init__(self, network: Network, number: int, near: Any, far: Any, there: Context) -> None:
        """`there`: the far end's."""
        loop, chance, faults = network.loop, network.loop.chance, network.faults
        actor = str(number)
        self.network, self.number = network, number
        kinds = (("cut", faults.cut), ("silent", faults.silent), ("half_closed", faults.half_closed))
        fate = chance.faults("connection", actor).pick(kinds)
        self.doomed = bool(fate)
        dies_after = chance.stream("connection.bytes", actor).choose(_BYTES_UNTIL) if fate else -1
        towards = chance.stream("connection.way", actor).choose(2) if fate else 0
        slow = chance.faults("connection.slow", actor).happens(faults.slow)
        self.near = MemoryTransport(loop, near, ("10.0.0.1", 7443), copy_context())
        self.far = MemoryTransport(loop, far, ("10.0.0.2", 40_000 + number), there)
        self.ways = (
            _Way(
                self,
                self.near,
                self.far,
                chance.stream("way.out", actor),
                slow,
                fate,
                dies_after if not towards else -1,
            ),
            _Way(
                self,
                self.far,
                self.near,
                chance.stream("way.back", actor),
                slow,
                fate,
                dies_after if towards else -1,
            ),
        )
        self.near.way, self.far.way = self.ways
        self.near.other, self.far.other = self.ways[1], self.ways[0]
        there.run(far.connection_made, self.far)
        near.connection_made(self.near)

    def cut(self) -> None:
        """As a network does that fails: each side notices at a moment of its own."""
        for way in self.ways:
            way.fall_silent()
        for end in (self.near, self.far):
            self.network.loop.call_later(
                self.ways[0].delay(), end.lost, ConnectionResetError(errno.ECONNRESET, "reset")
            )

    def fall_silent(self) -> None:
        for way in self.ways:
            way.fall_silent()
        gone = TimeoutError(errno.ETIMEDOUT, "Connection timed out")
        for end in (self.near, self.far):
            self.network.loop.call_later(_SILENT_SECONDS, end.lost, gone)

    def ended(self) -> None:
        if self.near.gone and self.far.gone and self in self.network.connections:
            self.network.connections.remove(self)


class _Way:
    """One direction. `dies_after`: so many bytes pass, then its fate happens; -1: never."""

    def __init__(
        self, connection: _Connection, sender: MemoryTransport, receiver: MemoryTransport, chance: Stream, slow: bool,
        fate: str, dies_after: int,
    ) -> None:  # fmt: skip
        self.connection, self.sender, self.receiver = connection, sender, receiver
        self._chance, self._slow, self._fate, self._left = chance, slow, fate, dies_after
        self.buffer = bytearray()
        self.eof = False
        self._dead = self._under_way = False

    def delay(self) -> float:
        return self._chance.choose(12) / 1000

    def send(self, data: bytes) -> None:
        if not self._dead:
            self.buffer += data
            self.go_on()

    def end(self) -> None:
        self.eof = True
        self.go_on()

    def fall_silent(self) -> None:
        self._dead = True
        self.buffer.clear()

    def go_on(self) -> None:
        if self._dead or self._under_way or self.receiver.paused or not (self.buffer or self.eof):
            return
        self._under_way = True
        self.connection.network.loop.call_later(self.delay(), self._arrive)

    def _arrive(self) -> None:
        self._under_way = False
        if self._dead or self.receiver.paused:
            return
        if not self.buffer:
            self.receiver.hear_end()
            return
        size = self._piece()
        doomed = 0 <= self._left <= size
        at_once = doomed and self._chance.choose(2) == 0  # at this very byte, or a moment later
        size = self._left if at_once else size
        self._left -= size if self._left >= 0 else 0
        piece = bytes(self.buffer[:size])
        del self.buffer[:size]
        self.connection.network.loop.note("bytes", self.connection.number, len(piece))
        if piece:
            self.receiver.hear(piece)
        if doomed:
            self._left = -1
            self._die() if at_once else self._die_soon()
        self.sender.drained()
        self.go_on()

    def _piece(self) -> int:
        """Mostly all there is; or a few bytes; or it ends anywhere."""
        whole = len(self.buffer)
        if self._slow:
            return min(whole, 1 + self._chance.choose(64))
        return whole if self._chance.choose(3) else 1 + self._chance.choose(whole)

    def _die_soon(self) -> None:
        self.connection.network.loop.call_later(self.delay(), self._die)

    def _die(self) -> None:
        if self._fate == "cut":
            self.connection.cut()
        elif self._fate == "silent":
            self.connection.fall_silent()
        else:
            self.fall_silent()
            self.receiver.hear_end()


class MemoryTransport(asyncio.Transport):
    """One end, as asyncio's own transports behave: what is written is sent after `close`, and not after `abort`."""

    way: _Way  # from here
    other: _Way  # to here

    def __init__(
        self, loop: DeterministicLoop, protocol: Any, peer: tuple[str, int], context: Context
    ) -> None:
        super().__init__({"peername": peer})
        self._loop, self.protocol, self._context = loop, protocol, context
        self.paused = self.gone = False
        self._closing = self._writing_paused = False
        self._high, self._low = _HIGH, _HIGH // 4

    # For protocols

    def write(self, data: Any) -> None:
        if self._closing or self.gone:
            return
        self.way.send(bytes(data))
        if len(self.way.buffer) > self._high and not self._writing_paused:
            self._writing_paused = True
            self.protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(bytes(each) for each in list_of_data))

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = _HIGH if high is None else high
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        return len(self.way.buffer)

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return not self.paused

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False
        self.other.go_on()

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        self.way.end()
        if not self.way.buffer:
            self._loop.call_soon(self.lost, None)

    def abort(self) -> None:
        if self.gone:
            return
        self._closing = True
        self.way.fall_silent()
        self._loop.call_soon(self.lost, None)
        reset = ConnectionResetError(errno.ECONNRESET, "reset")
        self._loop.call_later(self.way.delay(), self.way.receiver.lost, reset)

    # For ways

    def hear(self, data: bytes) -> None:
        if self._closing or self.gone:  # nobody reads here: whoever sends is told so
            reset = ConnectionResetError(errno.ECONNRESET, "reset")
            self._loop.call_later(self.other.delay(), self.other.sender.lost, reset)
            return
        self._context.run(self.protocol.data_received, data)

    def hear_end(self) -> None:
        if not self._closing and not self.gone and not self._context.run(self.protocol.eof_received):
            self.close()

    def drained(self) -> None:
        if self.gone:
            return
        if self._closing and not self.way.buffer:
            self._loop.call_soon(self.lost, None)
        elif self._writing_paused and len(self.way.buffer) <= self._low:
            self._writing_paused = False
            self._context.run(self.protocol.resume_writing)

    def lost(self, error: Exception | None) -> None:
        if self.gone:
            return
        self.gone = self._closing = True
        self.way.fall_silent() if error is not None else None
        self._context.run(self.protocol.connection_lost, error)
        self.way.connection.ended()

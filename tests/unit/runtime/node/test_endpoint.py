"""Plane and node over real sockets and TLS: who may ask, streams with back-pressure, and what comes of those who leave."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import uvloop

from fairlead.agent.drivers.logs import LogOptions
from fairlead.agent.drivers.usage import Usage
from fairlead.api.access.users import User
from fairlead.api.plan import NodeAddress, NodeQuestion, NodeStream
from fairlead.core.errors import Unavailable
from fairlead.model.marks import NODE_CERTIFICATE, NODE_ENDPOINT
from fairlead.port.request import Reply
from fairlead.runtime.clock import Clock
from fairlead.runtime.credentials import certificates, identity
from fairlead.runtime.credentials.identity import PLANE_NAME, Identity
from fairlead.runtime.node import endpoint as node_endpoint
from fairlead.runtime.node.endpoint import NodeEndpoint
from fairlead.runtime.server.node_connections import NodeConnections
from fairlead.wire.exchange import Exchange

SECONDS = 120.0
PIECE = b"x" * 65536


class Machine:
    """A node's pods: `lines` are printed already; a log that is followed goes on until it is ended."""

    def __init__(self) -> None:
        self.lines = [b"one\n", b"two\n"]
        self.wanted: list[LogOptions] = []
        self.reading = 0
        self.read = 0
        self.endless = False
        self.cpu_seconds = 0.0

    def logs(self, uid: str, container: str, wanted: LogOptions) -> AsyncIterator[bytes]:
        if uid != "uid":
            raise LookupError(f"pod {uid} is not on this machine")
        self.wanted.append(wanted)
        return self._pieces(wanted)

    async def _pieces(self, wanted: LogOptions) -> AsyncIterator[bytes]:
        self.reading += 1
        try:
            for line in self.lines:
                yield line
            while self.endless:
                self.read += len(PIECE)
                yield PIECE
                await asyncio.sleep(0)
            while wanted.follow:
                await asyncio.sleep(SECONDS)
        finally:
            self.reading -= 1

    async def usage(self) -> dict[str, dict[str, Usage]]:
        self.cpu_seconds += 1.0
        return {"uid": {"c": Usage(self.cpu_seconds, 4096)}}


class Client:
    """An exchange of the server's with a client that reads, or does not."""

    method = b"GET"

    def __init__(self) -> None:
        self.body = b""
        self.ended = self.aborted = self.streaming = False
        self.writable = True
        self.on_gone: Callable[[], None] | None = None
        self.resumed: Callable[[], None] = lambda: None

    def stream(self, content_type: bytes) -> None:
        self.streaming = True

    def send(self, piece: bytes) -> None:
        assert self.writable
        self.body += piece

    def on_writable(self, resumed: Callable[[], None]) -> None:
        self.resumed = resumed

    def end(self) -> None:
        self.ended = True

    def abort(self) -> None:
        self.aborted = True


class Room:
    """One plane and one node."""

    def __init__(self, plane: Identity, machine: Machine, endpoint: NodeEndpoint, node: NodeAddress) -> None:
        self.plane, self.machine, self.endpoint, self.node = plane, machine, endpoint, node
        self.connections = NodeConnections(asyncio.get_running_loop(), plane)
        self.began = 0
        self.refused: list[Exception] = []

    def read(self, query: str = "", user: str = "alice", node: NodeAddress | None = None) -> Client:
        client = Client()

        def began() -> None:
            self.began += 1

        asked = NodeStream(node or self.node, f"/logs/ns/pod/c?uid=uid{query}", _refusal)
        self.connections.stream(cast(Exchange, client), asked, User(user), began, self.refused.append)
        return client

    async def usage(self, *nodes: NodeAddress) -> Reply | Exception:
        answered: asyncio.Future[Reply | Exception] = asyncio.get_running_loop().create_future()

        def finish(answers: Any) -> Reply:
            return Reply(200, b",".join(sorted(name.encode() for name in answers)))

        self.connections.ask(NodeQuestion(nodes or (self.node,), "/stats", finish), answered.set_result)
        return await answered


def _refusal(status: int, message: str) -> Exception:
    return LookupError(f"{status} {message}")


def run(
    tmp_path: Path, test: Callable[[Room], Awaitable[None]], loop: Callable[[], Any] | None = None
) -> None:
    async def main() -> None:
        async with asyncio.timeout(SECONDS):
            async with room(tmp_path) as made:
                await test(made)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())


@asynccontextmanager
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    plane = identity.ensure(tmp_path / "plane", "127.0.0.1", 0, time.time())
    machine = Machine()
    endpoint = NodeEndpoint(plane.ca_certificate.read_text(), Clock())
    said = await endpoint.listen("127.0.0.1", 0, tmp_path)
    endpoint.serve(machine)
    made = Room(plane, machine, endpoint, NodeAddress("one", said[NODE_ENDPOINT], said[NODE_CERTIFICATE]))
    try:
        yield made
    finally:
        await made.connections.stop()
        await endpoint.close()
        await asyncio.sleep(0.05)  # transports close in the turns after


async def until(true: Callable[[], Any]) -> None:
    while not true():
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("loop", [None, uvloop.new_event_loop])
def test_a_log_comes_through(tmp_path: Path, loop: Callable[[], Any] | None) -> None:
    async def test(room: Room) -> None:
        client = room.read(
            "&tailLines=2&timestamps=true&previous=true&limitBytes=9&sinceTime=2026-01-01T00:00:00Z"
        )
        await until(lambda: client.ended)
        assert (client.body, room.began, room.refused) == (b"one\ntwo\n", 1, [])
        (wanted,) = room.machine.wanted
        assert wanted == LogOptions(
            previous=True, tail_lines=2, since=1767225600.0, timestamps=True, limit_bytes=9, follow=False
        )
        assert room.machine.reading == 0

    run(tmp_path, test, loop)


def test_a_log_that_is_followed_ends_at_the_node_when_the_client_leaves(tmp_path: Path) -> None:
    async def test(room: Room) -> None:
        client = room.read("&follow=true")
        await until(lambda: client.body == b"one\ntwo\n")
        assert (room.machine.reading, client.ended) == (1, False)
        assert client.on_gone is not None
        client.on_gone()
        await until(lambda: room.machine.reading == 0)
        assert not client.ended

    run(tmp_path, test)


def test_a_client_that_does_not_read_stops_the_reading_of_the_log(tmp_path: Path) -> None:
    async def test(room: Room) -> None:
        room.machine.endless = True
        client = room.read()
        await until(lambda: len(client.body) > len(PIECE))
        client.writable = False
        before = -1
        while room.machine.read != before:  # until all that is in between is full
            before = room.machine.read
            await asyncio.sleep(0.3)
        waiting = room.machine.read - len(client.body)
        assert 0 < waiting < 32 * 1024 * 1024
        room.machine.endless = False
        client.writable = True
        client.resumed()
        await until(lambda: client.ended)
        assert len(client.body) == room.machine.read + len(b"one\ntwo\n")

    run(tmp_path, test)


def test_a_node_that_goes_away_cuts_the_stream_and_does_not_end_it(tmp_path: Path) -> None:
    async def test(room: Room) -> None:
        client = room.read("&follow=true")
        await until(lambda: client.body)
        await room.endpoint.close()
        await until(lambda: client.aborted)
        assert not client.ended
        later = room.read()
        await until(lambda: room.refused)
        assert isinstance(room.refused[0], Unavailable)
        assert 'node "one" does not answer at https://127.0.0.1' in str(room.refused[0])
        assert not later.streaming

    run(tmp_path, test)


def test_what_a_node_does_not_have_is_refused_with_its_words(tmp_path: Path) -> None:
    async def test(room: Room) -> None:
        for uid, query, words in (
            ("other", "", "404 pod other is not on this machine"),
            ("uid", "&tailLines=many", "400 query parameter tailLines"),
            ("", "", "400 there is /logs/"),
        ):
            asked = NodeStream(room.node, f"/logs/ns/pod/c?uid={uid}{query}", _refusal)
            refused: list[Exception] = []
            room.connections.stream(cast(Exchange, Client()), asked, User("a"), lambda: None, refused.append)
            await until(lambda: refused)  # noqa: B023
            assert words in str(refused[0])
        assert room.began == 0

    run(tmp_path, test)


def test_no_more_logs_than_the_bound_are_read_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_endpoint, "NODE_STREAMS_MAX", 2)

    async def test(room: Room) -> None:
        kept = [room.read("&follow=true") for _ in range(2)]
        await until(lambda: all(client.body for client in kept))
        room.read("&follow=true")
        await until(lambda: room.refused)
        assert str(room.refused[0]).startswith("429 ")
        assert kept[0].on_gone is not None
        kept[0].on_gone()
        await until(lambda: room.machine.reading == 1)
        again = room.read("&follow=true")
        await until(lambda: again.body)

    run(tmp_path, test)


def test_the_streams_of_a_revoked_user_are_cut(tmp_path: Path) -> None:
    async def test(room: Room) -> None:
        alice, bob = room.read("&follow=true", "alice"), room.read("&follow=true", "bob")
        await until(lambda: alice.body and bob.body)
        room.connections.keep(lambda user: user.name == "bob")
        await until(lambda: alice.aborted)
        assert not bob.aborted
        await until(lambda: room.machine.reading == 1)

    run(tmp_path, test)


# Who may ask


def other_plane(room: Room, tmp_path: Path) -> NodeConnections:
    stranger = identity.ensure(tmp_path / "stranger", "127.0.0.1", 0, time.time())
    return NodeConnections(asyncio.get_running_loop(), stranger)


def other_name(room: Room, tmp_path: Path) -> NodeConnections:
    """Signed by the same authority, for somebody else."""
    made = identity.of(tmp_path / "renamed")
    made.directory.mkdir(parents=True)
    authority, key = room.plane.ca_certificate.read_bytes(), (room.plane.directory / "ca.key").read_bytes()
    pair = certificates.new_client(authority, key, "alice", time.time())
    made.plane_certificate.write_bytes(pair.certificate)
    made.plane_key.write_bytes(pair.key)
    return NodeConnections(asyncio.get_running_loop(), made)


def the_servers(room: Room, tmp_path: Path) -> NodeConnections:
    """The server's own certificate is for servers."""
    made = identity.of(tmp_path / "server")
    made.directory.mkdir(parents=True)
    made.plane_certificate.write_bytes(room.plane.server_certificate.read_bytes())
    made.plane_key.write_bytes(room.plane.server_key.read_bytes())
    return NodeConnections(asyncio.get_running_loop(), made)


@pytest.mark.parametrize("who", [other_plane, other_name, the_servers])
def test_nobody_but_the_plane_is_told_anything(
    tmp_path: Path, who: Callable[[Room, Path], NodeConnections]
) -> None:
    async def test(room: Room) -> None:
        honest, room.connections = room.connections, who(room, tmp_path)
        try:
            client = room.read()
            await until(lambda: room.refused)
            assert not client.streaming
            assert await room.usage() == Reply(200, b"")
            assert room.machine.wanted == []
        finally:
            await room.connections.stop()
            room.connections = honest
        client = room.read()
        await until(lambda: client.ended)

    run(tmp_path, test)


def test_without_a_certificate_there_is_no_connection(tmp_path: Path) -> None:
    async def test(room: Room) -> None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
        host, port = room.node.url.removeprefix("https://").split(":")
        heard = b""
        try:
            reader, writer = await asyncio.open_connection(host, int(port), ssl=tls)
            writer.write(b"GET /stats HTTP/1.1\r\nhost: node\r\n\r\n")
            heard = await reader.read(1)
            writer.close()
        except OSError:
            pass  # in the handshake, or as soon as something is sent
        assert heard == b""

    run(tmp_path, test)


def test_a_node_with_another_certificate_is_sent_nothing(tmp_path: Path) -> None:
    async def test(room: Room) -> None:
        impostor = NodeAddress("one", room.node.url, "00" * 32)
        room.read(node=impostor)
        await until(lambda: room.refused)
        assert "shows another certificate than was announced" in str(room.refused[0])
        assert room.machine.wanted == []

    run(tmp_path, test)


@pytest.mark.parametrize(("ahead", "refused"), [(0.0, False), (2 * 365 * 24 * 3600.0, True)])
def test_the_planes_certificate_expires_by_the_agents_clock(
    tmp_path: Path, ahead: float, refused: bool
) -> None:
    """It was made two years ago for a year, and the wall clock says so; the agent's clock is what counts."""

    async def test(room: Room) -> None:
        long_ago = time.time() - 2 * 365 * 24 * 3600
        key = (room.plane.directory / "ca.key").read_bytes()
        pair = certificates.new_client(room.plane.ca_certificate.read_bytes(), key, PLANE_NAME, long_ago)
        room.plane.plane_key.write_bytes(pair.key)
        room.plane.plane_certificate.write_bytes(pair.certificate)
        room.endpoint._clock = Clock(lambda: long_ago + 3600 + ahead)
        room.read()
        await until(lambda: room.began or room.refused)
        assert [str(each).partition(": ")[0] for each in room.refused] == (
            ["403 your certificate is not valid"] if refused else []
        )

    run(tmp_path, test)


def test_a_plane_without_a_certificate_says_what_to_do(tmp_path: Path) -> None:
    async def test(room: Room) -> None:
        room.plane.plane_certificate.unlink()
        room.read()
        await until(lambda: room.refused)
        assert "ca.key" in str(room.refused[0])
        assert isinstance(await room.usage(), Unavailable)

    run(tmp_path, test)


def test_the_certificate_is_kept_and_made_anew_when_it_is_torn(tmp_path: Path) -> None:
    plane = identity.ensure(tmp_path / "plane", "127.0.0.1", 0, time.time())

    def digest() -> str:
        async def announced() -> str:
            endpoint = NodeEndpoint(plane.ca_certificate.read_text(), Clock())
            said = await endpoint.listen("127.0.0.1", 0, tmp_path)
            await endpoint.close()
            return said[NODE_CERTIFICATE]

        return asyncio.run(announced())

    first = digest()
    assert digest() == first
    assert (tmp_path / "endpoint.pem").stat().st_mode & 0o777 == 0o600
    (tmp_path / "endpoint.pem").write_bytes(b"torn")
    assert digest() != first


# Usage


def test_usage_is_told_and_a_silent_node_is_not_waited_for(tmp_path: Path) -> None:
    async def test(room: Room) -> None:
        while await room.usage() != Reply(200, b"one"):  # there is no rate before the second sample
            await asyncio.sleep(0.2)

        async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        listening = await asyncio.start_server(mute, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        nodes = [NodeAddress(f"mute-{each}", f"https://127.0.0.1:{port}", "00" * 32) for each in range(3)]
        assert await room.usage(room.node, *nodes) == Reply(200, b"one")
        listening.close()

    run(tmp_path, test)


def test_an_agent_that_has_just_started_says_so(tmp_path: Path) -> None:
    async def test(room: Room) -> None:
        room.endpoint._source = None
        room.read()
        await until(lambda: room.refused)
        assert str(room.refused[0]).startswith("503 ")

    run(tmp_path, test)

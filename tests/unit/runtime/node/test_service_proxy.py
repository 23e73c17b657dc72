"""The proxy of Services, on real sockets: whose connection goes where, what is refused, what ends and what goes on."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairlead.agent.contract import Backend, Route
from fairlead.runtime.node import relay, service_proxy
from fairlead.runtime.node.service_proxy import ServiceProxy

SECONDS_MAX = 60.0
Serving = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 120))


async def until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        while not holds():
            await asyncio.sleep(0.005)


def free_port(address: str = "127.0.0.1") -> int:
    with socket.socket() as found:
        found.bind((address, 0))
        return int(found.getsockname()[1])


@asynccontextmanager
async def backend(serving: Serving, address: str = "127.128.77.1") -> AsyncIterator[Backend]:
    server = await asyncio.start_server(serving, address, 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield Backend(address, port)
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def proxied(*backends: Backend, **more: Any) -> AsyncIterator[tuple[ServiceProxy, str, int]]:
    told: list[str] = []
    proxy = ServiceProxy(asyncio.get_running_loop(), told.append, **more)
    address, port = "127.96.77.1", free_port("127.96.77.1")
    try:
        proxy.serve([Route("default/web:80", address, port, tuple(backends))])
        yield proxy, address, port
    finally:
        proxy.close()
    assert told == []


def says(text: bytes) -> Serving:
    async def serving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        writer.close()

    return serving


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers only after the end of the question: needs an end that is passed on without ending the rest."""
    asked = await reader.read()
    writer.write(asked[::-1])
    writer.close()


def served_by(proxy: ServiceProxy) -> tuple[tuple[str, int], ...]:
    """What it serves, rather than another agent of this machine."""
    return tuple(sorted(place for place, each in proxy._listeners.items() if each.socket is not None))


async def asked(address: str, port: int, question: bytes = b"") -> bytes:
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(question)
        writer.write_eof()
        return await reader.read()
    finally:
        writer.close()


def test_an_end_of_one_direction_leaves_the_other_open() -> None:
    async def work() -> None:
        async with backend(echo) as there, proxied(there) as (proxy, address, port):
            assert await asked(address, port, b"abc" * 100_000) == b"cba" * 100_000
            await until(lambda: proxy.connections == 0)
            assert proxy.retried == 0
            ((_, counts),) = proxy.counts()
            assert (counts.accepted, counts.no_endpoint, counts.unanswered) == (1, 0, 0)

    run(work())


def test_backends_take_turns_and_one_that_refuses_is_passed_over() -> None:
    async def work() -> None:
        dead = Backend("127.128.77.9", free_port("127.128.77.9"))
        async with backend(says(b"a")) as a, backend(says(b"b"), "127.128.77.2") as b:
            async with proxied(a, b) as (_, address, port):
                assert [await asked(address, port) for _ in range(4)] == [b"a", b"b", b"a", b"b"]
            async with proxied(a, dead, b) as (proxy, address, port):
                assert sorted([await asked(address, port) for _ in range(6)]) == [b"a"] * 2 + [b"b"] * 4
                assert proxy.retried == 2

    run(work())


def test_connections_are_shared_by_weight_and_evenly_again_once_the_weights_are_gone() -> None:
    async def work() -> None:
        async with backend(says(b"a")) as a, backend(says(b"b"), "127.128.77.2") as b:
            weighed = Backend(b.address, b.port, 3)
            async with proxied(a, weighed) as (proxy, address, port):
                assert Counter([await asked(address, port) for _ in range(16)]) == {b"a": 4, b"b": 12}
                proxy.serve([Route("default/web:80", address, port, (a, b))])
                assert Counter([await asked(address, port) for _ in range(8)]) == {b"a": 4, b"b": 4}

    run(work())


@pytest.mark.parametrize("backends", [(), (Backend("127.128.77.9", 9),), (Backend("nowhere", 9),)])
def test_a_connection_that_nobody_takes_is_reset(backends: tuple[Backend, ...]) -> None:
    async def work() -> None:
        async with proxied(*backends) as (proxy, address, port):
            with pytest.raises(ConnectionResetError):
                await asked(address, port, b"x")
            await until(lambda: proxy.connections == 0)
            ((service, counts),) = proxy.counts()
            assert service == "default/web:80"
            found = (counts.accepted, counts.no_endpoint, counts.unanswered)
            assert found == ((1, 0, 1) if backends else (1, 1, 0))

    run(work())


def test_connections_outlive_their_route_and_new_ones_follow_the_new_routes() -> None:
    async def line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while said := await reader.readline():
            writer.write(said)
        writer.close()

    async def work() -> None:
        async with (
            backend(line) as old,
            backend(says(b"new"), "127.128.77.2") as new,
            proxied(old) as (proxy, address, port),
        ):
            reader, writer = await asyncio.open_connection(address, port)
            writer.write(b"1\n")
            assert await reader.readline() == b"1\n"
            proxy.serve([Route("default/web:80", address, port, (new,))])
            assert await asked(address, port) == b"new"
            proxy.serve([])
            assert served_by(proxy) == ()
            with pytest.raises(ConnectionRefusedError):
                await asked(address, port)
            writer.write(b"2\n")
            assert await reader.readline() == b"2\n"
            writer.close()
            await until(lambda: proxy.connections == 0)

    run(work())


def test_a_side_that_does_not_read_holds_the_other_back() -> None:
    """Neither side's bytes are heaped up: what the writer gets rid of is bounded by buffers, however much it has."""
    taken = 0
    may_read = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        await may_read.wait()
        while block := await reader.read(1 << 16):
            taken += len(block)
        writer.close()

    async def work() -> None:
        async with backend(slow) as there, proxied(there) as (proxy, address, port):
            loop = asyncio.get_running_loop()
            client = socket.create_connection((address, port))
            client.setblocking(False)
            size, sent, quiet = 1 << 28, 0, 0
            while quiet < 20 and sent < size:  # until nothing is taken for a while
                try:
                    sent += client.send(bytes(1 << 20))
                    quiet = 0
                except BlockingIOError:
                    quiet += 1
                await asyncio.sleep(0.005)
            assert sent < size
            (one,) = proxy._relays
            assert 0 < sum(len(flow.waiting) for flow in one._flows) <= relay.BUFFER_BYTES
            may_read.set()
            await loop.sock_sendall(client, b"end")
            client.shutdown(socket.SHUT_WR)
            assert await loop.sock_recv(client, 1) == b""
            client.close()
            assert taken == sent + 3

    run(work())


def test_a_reset_is_passed_on() -> None:
    async def work() -> None:
        gone = asyncio.Event()

        async def waits(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with pytest.raises(ConnectionResetError):
                await reader.read()
            writer.close()
            gone.set()

        async with backend(waits) as there, proxied(there) as (proxy, address, port):
            client = socket.create_connection((address, port))
            await until(lambda: proxy.connections == 1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.close()
            await asyncio.wait_for(gone.wait(), SECONDS_MAX)
            await until(lambda: proxy.connections == 0)

    run(work())


def test_more_connections_than_allowed_wait_their_turn() -> None:
    async def work() -> None:
        async with backend(echo) as there, proxied(there, connections_max=3) as (proxy, address, port):
            seen = 0

            async def one(number: int) -> bytes:
                nonlocal seen
                answer = await asked(address, port, b"%d" % number)
                seen = max(seen, proxy.connections)
                return answer

            answers = await asyncio.gather(*(one(number) for number in range(40)))
            assert answers == [(b"%d" % number)[::-1] for number in range(40)]
            assert seen <= 3

    run(work())


def test_an_address_that_another_agent_serves_is_taken_over_as_soon_as_that_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(service_proxy, "BIND_AGAIN_SECONDS", 3600.0)

    async def work() -> None:
        async with backend(says(b"a")) as there, proxied(there) as (first, address, port):
            told: list[str] = []
            second = ServiceProxy(asyncio.get_running_loop(), told.append)
            second.serve([Route("default/web:80", address, port, (there,))])
            assert served_by(second) == (), "one that is stopped would keep its share waiting"
            assert await asked(address, port) == b"a"
            first.close()
            await until(lambda: served_by(second) == ((address, port),))
            assert await asked(address, port) == b"a"
            assert ([each.accepted for _, each in second.counts()], told) == ([1], [])
            second.close()

    run(work())


def test_a_process_without_file_descriptors_binds_as_soon_as_it_has_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(service_proxy, "BIND_AGAIN_SECONDS", 0.01)

    def none_left(*_: object) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    async def work() -> None:
        async with backend(says(b"a")) as there:
            told: list[str] = []
            proxy = ServiceProxy(asyncio.get_running_loop(), told.append)
            address, ports = "127.96.77.1", [free_port("127.96.77.1"), free_port("127.96.77.1")]
            with monkeypatch.context() as without:
                without.setattr(socket, "socket", none_left)
                proxy.serve([Route("default/web:80", address, port, (there,)) for port in ports])
                await asyncio.sleep(0.05)
            await until(lambda: len(served_by(proxy)) == 2)
            assert await asked(address, ports[0]) == b"a"
            assert len(told) == 2
            assert "Too many open files" in told[0]
            proxy.close()

    run(work())


def test_the_servers_own_service_is_no_alarm_where_low_ports_are_not_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    async def work() -> None:
        told: list[str] = []
        mentioned: list[str] = []
        proxy = ServiceProxy(asyncio.get_running_loop(), told.append, mention=mentioned.append)
        with monkeypatch.context() as low:
            low.setattr(socket, "socket", refused)
            routes = [
                Route(f"default/{name}", "127.96.77.1", port, ())
                for name, port in (("kubernetes:https", 443), ("web:http", 80))
            ]
            proxy.serve(routes)
        proxy.close()
        assert [each.partition(" is ")[0] for each in mentioned] == ["Service default/kubernetes:https"]
        assert [each.partition(" is ")[0] for each in told] == ["Service default/web:http"]

    run(work())


def test_a_port_that_somebody_has_on_all_addresses_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_proxy, "BIND_AGAIN_SECONDS", 0.01)

    async def work() -> None:
        with socket.create_server(("0.0.0.0", 0)) as wide:
            port = wide.getsockname()[1]
            told: list[str] = []
            proxy = ServiceProxy(asyncio.get_running_loop(), told.append)
            proxy.serve([Route("default/web:80", "127.96.77.1", port, ())])
            await until(lambda: told)
            await asyncio.sleep(0.05)  # time for several more tries
            assert told == [
                f"Service default/web:80 is not served on 127.96.77.1:{port}: Address already in use; another process "
                f"has port {port} of all addresses: end it, or give the Service another port"
            ]
            proxy.close()

    run(work())

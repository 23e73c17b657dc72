"""The client against servers that misbehave in every way a real one can: scripted bytes over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from fairlead.wire.client import Address, Broken, HttpAnswer, HttpClient, NotSent

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Each connection plays the script; `requests` are the first lines received, `connections` how many came."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.connections = 0
        self.requests: list[str] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.client: HttpClient

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.append(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._script(reader, writer)
        finally:
            writer.close()

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # transports close in the turns after

    async def request(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head.split(b"\r\n")[0].decode())
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                return await reader.readexactly(int(line.split(b":")[1]))
        return b""


@contextlib.asynccontextmanager
async def serving(script: Callable[[Server], Script], **options: Any) -> AsyncIterator[Server]:
    server = Server(lambda reader, writer: script(server)(reader, writer))
    listening = await asyncio.start_server(server._serve, "127.0.0.1", 0)
    server.client = HttpClient(Address("127.0.0.1", listening.sockets[0].getsockname()[1], None), **options)
    try:
        yield server
    finally:
        server.client.close()
        listening.close()
        await server.end()


def answering(*answers: bytes, close: bool = False) -> Callable[[Server], Script]:
    """Each connection: one request, one answer, and so on; then it is closed, or waits for ever."""

    def of(server: Server) -> Script:
        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for answer in answers:
                await server.request(reader)
                writer.write(answer)
                await writer.drain()
            if not close:
                await reader.read()

        return script

    return of


async def get(server: Server, method: str = "GET", body: bytes = b"", seconds: float = 5.0) -> HttpAnswer:
    return await server.client.send(method, "/x", b"", body, seconds)


def test_a_connection_is_used_again() -> None:
    async def run() -> None:
        async with serving(answering(OK, OK)) as server:
            assert await get(server) == HttpAnswer(200, {b"content-length": b"2"}, b"hi")
            assert (await get(server, "PATCH", b"{}")).body == b"hi"
            assert server.connections == 1
            assert server.requests == ["GET /x HTTP/1.1", "PATCH /x HTTP/1.1"]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", 404, b""),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n", 200, b"hi!"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200, b"hi"),
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi", 200, b"hi"),
    ],
    ids=["empty", "chunked", "continue", "closing"],
)
def test_answers_in_every_form_are_understood(answer: bytes, status: int, body: bytes) -> None:
    async def run() -> None:
        async with serving(answering(answer)) as server:
            found = await get(server)
            assert (found.status, found.body) == (status, body)

    asyncio.run(run())


def test_an_answer_without_length_ends_with_its_connection() -> None:
    async def run() -> None:
        async with serving(answering(b"HTTP/1.0 200 OK\r\n\r\nall of it", close=True)) as server:
            assert (await get(server)).body == b"all of it"

    asyncio.run(run())


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhi", b"no HTTP\r\n\r\n"],
    ids=["closed", "cut", "noise"],
)
def test_what_was_sent_and_not_answered_is_broken(answer: bytes) -> None:
    async def run() -> None:
        async with serving(answering(answer, close=True)) as server:
            with pytest.raises(Broken):
                await get(server, "POST", b"{}")
            assert server.connections == 1, "a write is never repeated"

    asyncio.run(run())


def test_silence_ends_at_the_deadline_and_is_broken() -> None:
    async def run() -> None:
        async with serving(answering(b"")) as server:
            with pytest.raises(Broken, match="did not answer"):
                await get(server, seconds=1.0)

    asyncio.run(run())


def test_no_connection_is_not_sent() -> None:
    async def run() -> None:
        async with serving(answering(OK)) as server:
            address = server.client.address
        with pytest.raises(NotSent, match="cannot reach"):
            await HttpClient(address).send("POST", "/x", b"", b"{}", 5.0)

    asyncio.run(run())


def test_waiting_for_room_until_the_deadline_is_not_sent_and_what_is_urgent_does_not_wait() -> None:
    async def run() -> None:
        async with serving(answering(b""), connections_max=1) as server:
            first = asyncio.create_task(get(server, "POST", seconds=60.0))
            while not server.requests:
                await asyncio.sleep(0.01)
            with pytest.raises(NotSent):
                await get(server, "POST", seconds=0.05)
            with pytest.raises(Broken):
                await server.client.send("PUT", "/urgent", b"", b"", 2.0, urgent=True)
            assert server.requests[-1] == "PUT /urgent HTTP/1.1"
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    asyncio.run(run())


@pytest.mark.parametrize(("method", "asked"), [("GET", 3), ("POST", 2)])
def test_a_kept_connection_that_the_server_closes_costs_a_read_nothing(method: str, asked: int) -> None:
    """The server closes after its first answer only when the second request is there: the worst moment."""

    def of(server: Server) -> Script:
        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await server.request(reader)
            writer.write(OK)
            await server.request(reader)

        return script

    async def run() -> None:
        async with serving(of) as server:
            await get(server)
            if method == "GET":
                assert (await get(server)).status == 200
            else:
                with pytest.raises(Broken):
                    await get(server, method, b"{}")
            assert len(server.requests) == asked

    asyncio.run(run())


def test_a_stream_delivers_as_it_comes_and_ends_cleanly_or_not() -> None:
    async def run(last: bytes) -> list[bytes]:
        def of(server: Server) -> Script:
            async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await server.request(reader)
                writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\na\n\r\n")
                await go_on.wait()
                writer.write(b"2\r\nb\n\r\n" + last)

            return script

        go_on = asyncio.Event()
        got: list[bytes] = []
        async with serving(of) as server:
            stream = await server.client.stream("/watch", b"", 5.0)
            async for chunk in stream:
                got.append(chunk)
                go_on.set()
            stream.close()
        return got

    assert b"".join(asyncio.run(run(b"0\r\n\r\n"))) == b"a\nb\n"
    with pytest.raises(Broken):
        asyncio.run(run(b""))


def test_a_stream_whose_reader_is_slow_does_not_gather_without_bound() -> None:
    megabyte = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"

    def of(server: Server) -> Script:
        async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await server.request(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            for _ in range(40):
                writer.write(megabyte)
                await writer.drain()
                sent.append(1)
            writer.write(b"0\r\n\r\n")

        return script

    sent: list[int] = []

    async def run() -> None:
        async with serving(of) as server:
            stream = await server.client.stream("/watch", b"", 5.0)
            before = -1
            while before != len(sent):  # until the server is stuck
                before = len(sent)
                await asyncio.sleep(0.3)
            assert before < 40
            assert sum([len(chunk) async for chunk in stream]) == 40 * 0x100000
            stream.close()

    asyncio.run(run())

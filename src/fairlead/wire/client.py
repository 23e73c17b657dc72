"""HTTP/1.1 out: requests over a few kept connections, and streams over connections of their own.

`runtime/remote/api.py` sends the requests of agents through it; `wire/http.py` is the other end. `client_protocol.py`
makes the requests and reads the answers, as it does for the command line's `blocking_client.py`. Everything is bounded:
how many connections are open at once, how long one may take, how large an answer may be, and what a stream gathers
before its reader takes it. One connection is `client_connection.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from fairlead.wire.client_connection import ClientConnection
from fairlead.wire.client_protocol import ANSWER_BYTES_MAX, REPEATABLE, Address, Broken, HttpAnswer, NotSent

__all__ = ["Address", "AnswerStream", "Broken", "HttpAnswer", "HttpClient", "NotSent"]

#: bound: plane | connections of an agent, beside its watches | they wait
CLIENT_CONNECTIONS_MAX = 8
# Below the time after which servers close what is not used, so that a request rarely meets a closing connection.
#: bound: plane | an agent keeps an unused connection for | it is closed
KEPT_SECONDS = 45.0


class HttpClient:
    """To one server. `send` for questions with one answer, `stream` for those without end."""

    def __init__(
        self,
        address: Address,
        connections_max: int = CLIENT_CONNECTIONS_MAX,
        answer_bytes_max: int = ANSWER_BYTES_MAX,
    ) -> None:
        self.address = address
        self._answer_bytes_max = answer_bytes_max
        self._room = asyncio.Semaphore(connections_max)
        self._kept: list[ClientConnection] = []
        self._closed = False

    async def send(
        self, method: str, target: str, headers: bytes, body: bytes, seconds: float, urgent: bool = False
    ) -> HttpAnswer:
        """One answer, within `seconds` from now. `headers` are whole lines. What is urgent waits for no other."""
        attempt = _Attempt()
        try:
            async with asyncio.timeout(seconds):
                if urgent:
                    return await self._send(method, target, headers, body, attempt)
                async with self._room:
                    return await self._send(method, target, headers, body, attempt)
        except TimeoutError:
            told = self._silence(seconds)
            raise (Broken(told) if attempt.sent else NotSent(told, told)) from None

    async def stream(self, target: str, headers: bytes, seconds: float) -> AnswerStream:
        """A GET whose answer has begun, within `seconds`; it may go on for ever."""
        connection: ClientConnection | None = None
        try:
            async with asyncio.timeout(seconds):
                connection = await self._connect()
                connection.begin(self.address.request("GET", target, headers, b""), 0)
                while not connection.reader.status:
                    await connection.more()
                return AnswerStream(connection)
        except BaseException as error:
            if connection is not None:
                connection.abort()
            if isinstance(error, TimeoutError):
                raise Broken(self._silence(seconds)) from None
            raise

    def drop_kept(self) -> None:
        """Forget connections that are not in use: what made one of them fail may concern all."""
        while self._kept:
            self._kept.pop().abort()

    def close(self) -> None:
        self._closed = True
        self.drop_kept()

    async def _send(
        self, method: str, target: str, headers: bytes, body: bytes, attempt: _Attempt
    ) -> HttpAnswer:
        connection = self._take_kept()
        used_before = connection is not None
        if connection is None:
            connection = await self._connect()
        message = self.address.request(method, target, headers, body)
        try:
            attempt.sent = True
            connection.begin(message, self._answer_bytes_max)
            while not connection.reader.complete:
                await connection.more()
        except Broken:
            connection.abort()
            if not used_before or connection.reader.heard or method not in REPEATABLE:
                raise
            # The server closed what it thought unused. A read may be asked twice.
            return await self._send(method, target, headers, body, attempt)
        except BaseException:
            connection.abort()
            raise
        self._keep(connection)
        return connection.reader.answer()

    def _silence(self, seconds: float) -> str:
        return f"{self.address.authority} did not answer within {seconds:g} s"

    def _take_kept(self) -> ClientConnection | None:
        now = asyncio.get_running_loop().time()
        while self._kept:
            connection = self._kept.pop()
            if connection.usable and now - connection.used_at < KEPT_SECONDS:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: ClientConnection) -> None:
        if self._closed or not connection.usable:
            connection.abort()
            return
        connection.used_at = asyncio.get_running_loop().time()
        self._kept.append(connection)

    async def _connect(self) -> ClientConnection:
        host, port, tls, *_ = self.address
        try:
            transport, connection = await asyncio.get_running_loop().create_connection(
                ClientConnection,
                host,
                port,
                ssl=tls,
                server_hostname=host if tls is not None else None,
            )
        except OSError as error:
            raise self.address.unreachable(error) from error
        try:
            self.address.check(transport.get_extra_info("ssl_object"))
        except NotSent:
            connection.abort()
            raise
        return connection


class _Attempt:
    __slots__ = ("sent",)

    def __init__(self) -> None:
        self.sent = False


class AnswerStream:
    """An answer that goes on. Iterate over its bytes; Broken if it ends before its end. Close it in any case."""

    def __init__(self, connection: ClientConnection) -> None:
        self.status = connection.reader.status
        self._connection = connection

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            if chunk := self._connection.take():
                yield chunk
            elif self._connection.reader.complete:
                return
            else:
                await self._connection.more()

    async def read(self, seconds: float) -> bytes:
        """All of it, for an answer that turned out to be short: a refusal."""
        async with asyncio.timeout(seconds):
            return b"".join([chunk async for chunk in self])

    def close(self) -> None:
        self._connection.abort()

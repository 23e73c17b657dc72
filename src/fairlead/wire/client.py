"""HTTP/1.1 out: requests over a few kept connections, and streams over connections of their own.

`runtime/remote.py` sends the requests of agents through it; `wire/http.py` is the other end. It says of every failure
which of two it is, because the caller must treat them differently: NotSent, the server surely never saw the request;
Broken, it may have. Everything is bounded: how many connections are open at once, how long one may take, how large an
answer may be, and what a stream gathers before its reader takes it. One connection is `client_connection.py`.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from typing import NamedTuple

from fairlead.wire.client_connection import ANSWER_BYTES_MAX, Answer, Broken, Connection
from fairlead.wire.validity import time_trouble

__all__ = ["ANSWER_BYTES_MAX", "Address", "Answer", "Broken", "Client", "NotSent", "Stream"]

CLIENT_CONNECTIONS_MAX = 8
# Below the time after which servers close what is not used, so that a request rarely meets a closing connection.
KEPT_SECONDS = 45.0
_REPEATABLE = frozenset({"GET", "HEAD"})


class NotSent(Exception):
    """The server has not got it: there was no connection."""


class Address(NamedTuple):
    """`pin`: the sha256 (hex) of the one certificate that the server may show; "" for any that `tls` trusts. `clock`:
    by which its time is judged, where `tls` leaves that to us (`validity.leave_time_out`)."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    pin: str = ""
    clock: Callable[[], float] | None = None

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Client:
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
        self._kept: list[Connection] = []
        self._closed = False

    async def send(
        self, method: str, target: str, headers: bytes, body: bytes, seconds: float, urgent: bool = False
    ) -> Answer:
        """One answer, within `seconds` from now. `headers` are whole lines. What is urgent waits for no other."""
        attempt = _Attempt()
        try:
            async with asyncio.timeout(seconds):
                if urgent:
                    return await self._send(method, target, headers, body, attempt)
                async with self._room:
                    return await self._send(method, target, headers, body, attempt)
        except TimeoutError:
            told = f"{self.address.authority} did not answer within {seconds:g} s"
            raise (Broken(told) if attempt.sent else NotSent(told)) from None

    async def stream(self, target: str, headers: bytes, seconds: float) -> Stream:
        """A GET whose answer has begun, within `seconds`; it may go on for ever."""
        connection: Connection | None = None
        try:
            async with asyncio.timeout(seconds):
                connection = await self._connect()
                connection.begin(self._bytes("GET", target, headers, b""), streams=True)
                status = await connection.head
        except TimeoutError:
            if connection is not None:
                connection.abort()
            raise Broken(f"{self.address.authority} did not answer within {seconds:g} s") from None
        except BaseException:
            if connection is not None:
                connection.abort()
            raise
        return Stream(status, connection)

    def drop_kept(self) -> None:
        """Forget connections that are not in use: what made one of them fail may have befallen all."""
        while self._kept:
            self._kept.pop().abort()

    def close(self) -> None:
        self._closed = True
        self.drop_kept()

    async def _send(self, method: str, target: str, headers: bytes, body: bytes, attempt: _Attempt) -> Answer:
        connection = self._take_kept()
        used_before = connection is not None
        if connection is None:
            connection = await self._connect()
        message = self._bytes(method, target, headers, body)
        try:
            attempt.sent = True
            connection.begin(message, streams=False)
            answer = await connection.whole
        except Broken:
            connection.abort()
            if not used_before or connection.heard or method not in _REPEATABLE:
                raise
            # The server closed what it thought unused. A read may be asked twice.
            return await self._send(method, target, headers, body, attempt)
        except BaseException:
            connection.abort()
            raise
        self._keep(connection)
        return answer

    def _bytes(self, method: str, target: str, headers: bytes, body: bytes) -> bytes:
        length = b"content-length: %d\r\n" % len(body) if body or method not in _REPEATABLE else b""
        head = f"{method} {target} HTTP/1.1\r\nhost: {self.address.authority}\r\n".encode("ascii")
        return b"%b%b%b\r\n%b" % (head, headers, length, body)

    def _take_kept(self) -> Connection | None:
        now = asyncio.get_running_loop().time()
        while self._kept:
            connection = self._kept.pop()
            if connection.usable and now - connection.used_at < KEPT_SECONDS:
                return connection
            connection.abort()
        return None

    def _keep(self, connection: Connection) -> None:
        if self._closed or not connection.usable:
            connection.abort()
            return
        connection.used_at = asyncio.get_running_loop().time()
        self._kept.append(connection)

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        host, port, tls, pin, clock = self.address
        try:
            transport, connection = await loop.create_connection(
                lambda: Connection(self._answer_bytes_max),
                host,
                port,
                ssl=tls,
                server_hostname=host if tls is not None else None,
            )
        except ssl.SSLCertVerificationError as error:
            raise NotSent(
                f"the certificate of {self.address.authority} is not trusted ({error.verify_message})"
            ) from error
        except OSError as error:
            told = error.strerror or str(error) or type(error).__name__
            raise NotSent(f"cannot reach {self.address.authority}: {told}") from error
        if pin and _fingerprint(transport) != pin:
            connection.abort()
            raise NotSent(f"{self.address.authority} shows another certificate than was announced")
        trouble = time_trouble(transport.get_extra_info("peercert"), clock()) if tls and clock else ""
        if trouble:
            connection.abort()
            raise NotSent(f"the certificate of {self.address.authority} is not trusted ({trouble})")
        return connection


class _Attempt:
    __slots__ = ("sent",)

    def __init__(self) -> None:
        self.sent = False


class Stream:
    """An answer that goes on. Iterate over its bytes; Broken if it ends before its end. Close it in any case."""

    def __init__(self, status: int, connection: Connection) -> None:
        self.status = status
        self._connection = connection

    async def __aiter__(self) -> AsyncIterator[bytes]:
        connection = self._connection
        while True:
            if connection.ahead:
                yield connection.take()
            elif connection.whole.done():
                await connection.whole  # raises Broken if it was
                return
            else:
                await connection.more()

    async def read(self, seconds: float) -> bytes:
        """All of it, for an answer that turned out to be short: a refusal."""
        async with asyncio.timeout(seconds):
            return b"".join([chunk async for chunk in self])

    def close(self) -> None:
        self._connection.abort()


def _fingerprint(transport: asyncio.BaseTransport) -> str:
    shown = transport.get_extra_info("ssl_object")
    return sha256(shown.getpeercert(True) or b"").hexdigest() if shown is not None else ""

"""HTTP/1.1 out without I/O: the bytes of a request, the answer out of the bytes that come, and what failed in words.

Two drivers move the bytes: `client.py` on a loop, for agents and planes; `blocking_client.py` for the command line,
where importing asyncio would take longer than most questions. Every failure is one of two, because a caller must treat
them differently: NotSent, the server surely never saw the request; Broken, it may have.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

import httptools

from fairlead.wire.validity import time_trouble

#: bound: plane | an answer that an agent reads | it is cut
ANSWER_BYTES_MAX = 64 * 1024 * 1024
REPEATABLE = frozenset({"GET", "HEAD"})
_FRAMED = frozenset({b"content-length", b"transfer-encoding"})


class NotSent(Exception):
    """The server has not got it: there was no connection. `reason`: the part that names no server."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Untrusted(NotSent):
    """The certificate is not one that we accept."""


class Broken(Exception):
    """It was sent, and no whole answer came: whether anything happened is not known."""


class HttpAnswer(NamedTuple):
    status: int
    headers: dict[bytes, bytes]  # names in lower case
    body: bytes


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

    def request(self, method: str, target: str, headers: bytes, body: bytes) -> bytes:
        """`headers` are whole lines."""
        length = b"content-length: %d\r\n" % len(body) if body or method not in REPEATABLE else b""
        head = f"{method} {target} HTTP/1.1\r\nhost: {self.authority}\r\n".encode("ascii")
        return b"%b%b%b\r\n%b" % (head, headers, length, body)

    def check(self, shown: ssl.SSLObject | ssl.SSLSocket | None) -> None:
        """Raises Untrusted for a certificate that TLS let pass and we do not."""
        if self.pin and (shown is None or sha256(shown.getpeercert(True) or b"").hexdigest() != self.pin):
            reason = "shows another certificate than was announced"
            raise Untrusted(f"{self.authority} {reason}", reason)
        if trouble := time_trouble(shown.getpeercert(), self.clock()) if shown and self.clock else "":
            raise self.untrusted(trouble)

    def untrusted(self, reason: str) -> Untrusted:
        return Untrusted(f"the certificate of {self.authority} is not trusted ({reason})", reason)

    def unreachable(self, error: OSError) -> NotSent:
        """In words: why there is no connection."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return self.untrusted(error.verify_message)
        told = error.strerror or str(error) or type(error).__name__
        if isinstance(error, ConnectionError) and error.errno:
            told = os.strerror(error.errno)  # asyncio puts the address where the system's own words belong
        return NotSent(f"cannot reach {self.authority}: {told}", told)


def bearer(token: str) -> bytes:
    """The header by which one signs in; nothing without a token."""
    return b"authorization: Bearer " + token.encode("ascii") + b"\r\n" if token else b""


class AnswerReader:
    """One answer, as its bytes come. Broken if they are none, or more than `bytes_max`; 0: a stream, of which the
    driver takes what has come before it lets more come."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self.streams = not bytes_max
        self._parser = httptools.HttpResponseParser(self)
        self._chunks: list[bytes] = []
        self._headers: dict[bytes, bytes] = {}
        self.held_bytes = 0
        self.status = 0  # until the head is there
        self.heard = self.complete = self.keeps_open = False

    def feed(self, data: bytes) -> None:
        self.heard = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if not self.complete:
                raise Broken(f"the answer is not HTTP: {error}") from error
            self.keeps_open = False  # something came after it that nobody had asked for
        if not self.streams and self.held_bytes > self._bytes_max:
            raise Broken(f"the answer is larger than {self._bytes_max} bytes")

    def end(self) -> None:
        """The connection was closed, which ends an answer of no stated length."""
        if not self.complete and (not self.status or self._headers.keys() & _FRAMED):
            raise Broken("the connection was closed")
        self.complete = True

    def take(self) -> bytes:
        """What came of the body since it was last asked; b"" if nothing did."""
        taken = b"".join(self._chunks)
        self._chunks.clear()
        self.held_bytes = 0
        return taken

    def answer(self) -> HttpAnswer:
        """With what was not taken of its body."""
        return HttpAnswer(self.status, self._headers, self.take())

    # httptools

    def on_message_begin(self) -> None:
        if self.complete:
            raise ValueError("a second answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status

    def on_body(self, body: bytes) -> None:
        self.held_bytes += len(body)
        self._chunks.append(body)

    def on_message_complete(self) -> None:
        if not self.status:
            self._headers = {}  # 1xx: the answer itself is to come
            return
        self.keeps_open = self._parser.should_keep_alive()
        self.complete = True

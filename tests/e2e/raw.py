"""HTTP by hand: exact bytes to a running server, and whatever comes back until it closes or falls silent."""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import dataclass
from typing import Any

from tests.running import Running


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, list[str]]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        return str(self.json()["message"])


def assert_no_traceback(server: Running) -> None:
    """Neither on the screen nor in the log of details: nothing unforeseen happened."""
    for log in (server.log, server.directory / "fairlead.log"):
        assert not log.exists() or "Traceback" not in log.read_text(), log.read_text()[-4000:]


class Raw:
    """One TLS connection. `with Raw(server) as raw: raw.send(...); raw.answer()`."""

    def __init__(self, server: Running, timeout: float = 60) -> None:
        plain = socket.create_connection(("127.0.0.1", server.port), timeout=timeout)
        self.socket: ssl.SSLSocket = server.tls.wrap_socket(plain, server_hostname="127.0.0.1")
        self._host = f"Host: 127.0.0.1\r\nAuthorization: Bearer {server.token}\r\n".encode()
        self._unread = bytearray()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(self, line: bytes, headers: bytes = b"", body: bytes = b"") -> None:
        """`line` as in b"GET / HTTP/1.1"; host and token are added, nothing else."""
        self.send(line + b"\r\n" + self._host + headers + b"\r\n" + body)

    def answer(self, head_only: bool = False) -> Answer:
        """The next whole answer. `head_only` for answers to HEAD, which have a length and no body."""
        head = self._until(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers: dict[str, list[str]] = {}
        for line in lines:
            name, _, value = line.partition(": ")
            headers.setdefault(name.lower(), []).append(value)
        if head_only or "content-length" not in headers:
            return Answer(int(first.split()[1]), headers, b"")
        length = int(headers["content-length"][0])
        while len(self._unread) < length:
            self._more()
        body = bytes(self._unread[:length])
        del self._unread[:length]
        return Answer(int(first.split()[1]), headers, body)

    def rest(self) -> bytes:
        """Everything until the server closes."""
        while True:
            try:
                self._more()
            except EOFError:
                rest, self._unread = bytes(self._unread), bytearray()
                return rest

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._unread:
            self._more()
        found, _, self._unread = self._unread.partition(mark)
        return bytes(found)

    def _more(self) -> None:
        data = self.socket.recv(1 << 16)
        if not data:
            raise EOFError
        self._unread += data

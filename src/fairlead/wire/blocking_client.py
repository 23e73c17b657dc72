"""HTTP/1.1 out for commands that ask one thing after the other and end: one kept connection, and it blocks.

`cli/client.py` asks through it. `client_protocol.py` makes the requests, reads the answers and names the failures, as
it does for `client.py`; only the socket is here.
"""

from __future__ import annotations

import socket

from fairlead.wire.client_protocol import Address, AnswerReader, Broken, HttpAnswer

_READ_BYTES = 256 * 1024


class BlockingClient:
    """To one server. Each wait for the network lasts `seconds` at most."""

    def __init__(self, address: Address, seconds: float, answer_bytes_max: int) -> None:
        self.address = address
        self._seconds = seconds
        self._answer_bytes_max = answer_bytes_max
        self._kept: socket.socket | None = None

    def send(self, method: str, target: str, headers: bytes, body: bytes) -> HttpAnswer:
        """One answer. `headers` are whole lines. Raises NotSent or Broken."""
        wire, self._kept = self._kept or self._connect(), None
        reader = AnswerReader(self._answer_bytes_max)
        try:
            wire.sendall(self.address.request(method, target, headers, body))
            while not reader.complete:
                if data := wire.recv(_READ_BYTES):
                    reader.feed(data)
                else:
                    reader.end()
            if reader.keeps_open:
                self._kept = wire
        except OSError as error:
            raise Broken(error.strerror or str(error)) from error
        finally:
            if self._kept is None:
                wire.close()
        return reader.answer()

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _connect(self) -> socket.socket:
        host, port, tls, *_ = self.address
        try:
            wire = socket.create_connection((host, port), self._seconds)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls is None:
                return wire
            shown = tls.wrap_socket(wire, server_hostname=host)
        except OSError as error:
            raise self.address.unreachable(error) from error
        self.address.check(shown)
        return shown

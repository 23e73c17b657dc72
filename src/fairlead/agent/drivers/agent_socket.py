"""The supervisor's ear: a unix socket in the pod's directory, one agent at a time, lines of JSON both ways.

Used by `supervising.py`. A new connection replaces the one before: the newer agent is the one that counts. State is a
level, so a slow agent gets the newest when it reads again; other answers wait in a bounded buffer, and an agent that
lets it run over is cut off: when it comes back it is told the whole state first. Standard library only.
"""

from __future__ import annotations

import _socket
import os
import select
import sys

from fairlead.agent.drivers.lean_stdlib import from_json, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]

FILE = "socket"
#: bound: processes | arguments and environment of a container | it is not started
LINE_BYTES_MAX = 4 * 1024 * 1024  # a run with its environment; the kernel takes no longer one anyway
#: bound: processes | answers that wait for an agent, per pod | the agent is cut off and comes back
WAITING_BYTES_MAX = 256 * 1024
_READ_BYTES = 65536


class AgentSocket:
    def __init__(
        self, poll: select.poll, hear: Callable[[Json], None], state: Callable[[], Json], first: int
    ) -> None:
        """`first`: a connection made by whoever started this process, -1 for none."""
        self._poll = poll
        self._hear = hear
        self._state = state
        self._agent = -1
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._state_due = False
        try:
            os.unlink(FILE)
        except FileNotFoundError:
            pass  # the first supervisor of this pod
        mask = os.umask(0o177)
        self._listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._listener.bind(FILE)
        os.umask(mask)
        self._listener.listen(8)
        self._listener.setblocking(False)
        poll.register(self._listener.fileno(), select.POLLIN)
        if first >= 0:
            self._welcome(first)

    def handle(self, fd: int, events: int) -> bool:
        """True if the event was for it."""
        if fd == self._listener.fileno():
            self._accept()
        elif fd == self._agent:
            if events & select.POLLOUT:
                self.flush()
            if events & (select.POLLIN | select.POLLHUP | select.POLLERR) and fd == self._agent:
                self._receive()
        else:
            return False
        return True

    def tell_state(self) -> None:
        self._state_due = True

    def tell(self, message: Json) -> None:
        if self._agent < 0:
            return
        self._outgoing += to_json(message).encode() + b"\n"
        if len(self._outgoing) > WAITING_BYTES_MAX:
            self._dismiss()

    def flush(self) -> None:
        """Write what can be written without waiting."""
        if self._agent < 0:
            return
        if self._state_due and len(self._outgoing) < _READ_BYTES:
            self._state_due = False
            self._outgoing += to_json({"state": self._state()}).encode() + b"\n"
        try:
            while self._outgoing:
                del self._outgoing[: os.write(self._agent, self._outgoing)]
        except BlockingIOError:
            pass  # POLLOUT will say when
        except OSError:
            self._dismiss()
            return
        wanted = select.POLLIN | (select.POLLOUT if self._outgoing or self._state_due else 0)
        self._poll.modify(self._agent, wanted)

    def close(self) -> None:
        self._dismiss()
        self._listener.close()

    def _accept(self) -> None:
        try:
            fd, _ = self._listener._accept()  # type: ignore[attr-defined]
        except OSError:
            return  # it went again
        connection = _socket.socket(fileno=fd)
        credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        connection.detach()
        if int.from_bytes(credentials[4:8], sys.byteorder) in (0, os.geteuid()):
            self._welcome(fd)
        else:
            os.close(fd)

    def _welcome(self, fd: int) -> None:
        if self._agent >= 0:
            self.tell({"replaced": True})  # so that it does not take this for the supervisor's end
            self.flush()
        self._dismiss()
        os.set_blocking(fd, False)
        self._agent = fd
        self._poll.register(fd, select.POLLIN)
        self._state_due = True

    def _dismiss(self) -> None:
        if self._agent >= 0:
            self._poll.unregister(self._agent)
            os.close(self._agent)
            self._agent = -1
        self._incoming.clear()
        self._outgoing.clear()

    def _receive(self) -> None:
        try:
            data = os.read(self._agent, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._dismiss()
            return
        self._incoming += data
        if b"\n" not in data:
            if len(self._incoming) > LINE_BYTES_MAX:
                self._dismiss()
            return
        *lines, rest = self._incoming.split(b"\n")
        self._incoming = rest
        for line in lines:
            try:
                message = from_json(line.decode())
                if not isinstance(message, dict):
                    raise ValueError("a message is an object")
            except ValueError:
                self._dismiss()
                return
            self._hear(message)

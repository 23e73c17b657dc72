"""The driver's end of a supervisor: starting one, finding one that runs, and lines of JSON to and from it.

Used by `pod.py`. The first connection is handed to a new supervisor as its standard input, so there is nothing to wait
for; later ones go through the socket in the pod's directory, by way of /proc because paths of sockets must be short.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import sys
import time
from typing import Any

import msgspec

from fairlead.agent.drivers import files_beneath, supervisor
from fairlead.agent.drivers.agent_socket import FILE, LINE_BYTES_MAX
from fairlead.agent.drivers.directories import PodDirectory
from fairlead.agent.drivers.procfs import CONTAINER_TAG, POD_TAG, ROOT_TAG

Json = dict[str, Any]
LOG = "supervisor.log"
#: bound: processes | a supervisor answers within | killed
ANSWER_SECONDS = (
    20.0  # a supervisor that says nothing for so long is ended: it could not keep its deadline either
)
_LOG_TOLD_BYTES = 400
_REAP_TRIES, _REAP_SECONDS = 10, 0.01


class SupervisorLink:
    """One connection. `receive` ends with None; nothing is sent after that."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, child: int) -> None:
        self._reader = reader
        self._writer = writer
        self.child = child  # pid, if this process started it

    async def receive(self) -> Json | None:
        try:
            line = await self._reader.readline()
            return msgspec.json.decode(line, type=dict[str, Any]) if line.endswith(b"\n") else None
        except (OSError, ValueError, msgspec.DecodeError):
            return None

    async def first_state(self) -> Json | None:
        """What every supervisor says first; None if it does not."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                message = await self.receive()
        except TimeoutError:
            return None
        except asyncio.CancelledError:
            self.shut()  # the driver ends, and nobody else knows of this connection
            raise
        state = (message or {}).get("state")
        return state if isinstance(state, dict) else None

    def send(self, message: Json) -> None:
        line = msgspec.json.encode(message) + b"\n"
        if len(line) > LINE_BYTES_MAX:
            raise ValueError(
                f"arguments and environment have {len(line)} bytes, more than {LINE_BYTES_MAX}: shorten env or envFrom"
            )
        self._writer.write(line)

    def shut(self) -> None:
        self._writer.close()

    async def close(self) -> None:
        self.shut()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass  # the other side went first


def supervisor_runs(directory: PodDirectory) -> bool:
    """Whether somebody holds the lock of the directory."""
    try:
        lock = directory.open(supervisor.LOCK, os.O_RDWR)
    except OSError:
        return False  # none, or something that no supervisor made
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


async def start_supervisor(directory: PodDirectory, uid: str, deadline: float) -> SupervisorLink:
    """`deadline` of CLOCK_BOOTTIME. OSError if no process can be started. Its directory is handed to it as a
    descriptor: everybody may read a command line."""
    place = directory.open()
    try:
        log = files_beneath.create(place, LOG)
    except OSError:
        os.close(place)
        raise
    ours, theirs = socket.socketpair()
    try:
        child = os.posix_spawn(
            sys.executable,
            [
                sys.executable,
                "-I",
                "-S",
                "-E",
                supervisor.__file__,
                str(supervisor.DIRECTORY_FD),
                repr(deadline),
            ],
            {POD_TAG: uid, CONTAINER_TAG: "", ROOT_TAG: f"{directory.path.absolute()}/"},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
                (os.POSIX_SPAWN_DUP2, place, supervisor.DIRECTORY_FD),
            ],
            setsigmask=(),
        )
    except OSError:
        ours.close()
        raise
    finally:
        theirs.close()
        os.close(log)
        os.close(place)
    return await _link(ours, child)


async def find_supervisor(directory: PodDirectory) -> SupervisorLink | None:
    """The one that runs already; None if nobody listens."""
    try:
        place = directory.open(FILE, os.O_PATH)
    except OSError:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connection, f"/proc/self/fd/{place}")
    except OSError:
        connection.close()
        return None
    finally:
        os.close(place)
    return await _link(connection, 0)


async def _link(connection: socket.socket, child: int) -> SupervisorLink:
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=LINE_BYTES_MAX)
    return SupervisorLink(reader, writer, child)


def reap(pid: int) -> None:
    """Take note of the end of a supervisor that was killed, if it is a child of this process. Blocks for a moment,
    never longer: after a restart of the machine another child may have its pid."""
    for _ in range(_REAP_TRIES):
        try:
            if not pid or os.waitpid(pid, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            return  # an earlier agent's
        time.sleep(_REAP_SECONDS)


def last_words(directory: PodDirectory) -> str:
    """The end of what a supervisor that failed has said."""
    try:
        place = directory.open()
    except OSError:
        return "it said nothing"
    try:
        said = files_beneath.read_file(place, LOG)[-_LOG_TOLD_BYTES:].decode("utf-8", "replace").strip()
    except OSError:
        return "it said nothing"
    finally:
        os.close(place)
    return said.splitlines()[-1] if said else "it said nothing"

"""Processes of `fairlead` that need not load it: one process per test run has loaded it, and forks for each.

    process = start([FAIRLEAD, "up", ...], log)      like subprocess.Popen(words, stdout=log, stderr=log)

To load all of `fairlead up` takes more of a processor than everything a short test then asks of it, and hundreds of them
are started. What a fork runs is the same `main` with the same words, environment, directory and limits, in a process of
its own that can be killed; only the interpreter's start and the imports are left out, which those tests keep that start a
server by its command (`test_kill.py`, `test_status_and_stop.py`, pages that do).

The nursery is single-threaded and holds no state of the product. It ends, with all it bore, when the tests do.
"""

from __future__ import annotations

import atexit
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

_MESSAGE_BYTES = 1 << 20
_ROOT = Path(__file__).parents[1]


class Born:
    """A process that the nursery has forked; as much of subprocess.Popen as tests use."""

    def __init__(self, pid: int, told: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._told = told  # where the nursery tells how it ended
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        return self._hear(0.0)

    def wait(self, timeout: float | None = None) -> int:
        ended = self._hear(timeout)
        if ended is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return ended

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _hear(self, timeout: float | None) -> int | None:
        with self._lock:
            if self.returncode is None and select.select([self._told], [], [], timeout)[0]:
                status = os.read(self._told, 64)
                os.close(self._told)
                # Without a word the nursery itself has ended, and everything with it.
                self.returncode = os.waitstatus_to_exitcode(int(status)) if status else -signal.SIGKILL
            return self.returncode


class _Nursery:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.nursery", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)])},
            )

        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait(60)

    def start(self, words: Sequence[str | Path], out: IO[bytes], errors: IO[bytes]) -> Born:
        asked = {
            "words": [str(each) for each in words],
            "environment": dict(os.environ),
            "directory": os.getcwd(),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        }
        hears, tells = os.pipe()
        with self._lock:
            try:
                files = [out.fileno(), errors.fileno(), tells]
                socket.send_fds(self._socket, [json.dumps(asked).encode()], files)
            finally:
                os.close(tells)
            return Born(int(self._socket.recv(64)), hears)


_nurseries: list[_Nursery] = []  # none before it is needed, then one


def start(words: Sequence[str | Path], out: IO[bytes], errors: IO[bytes] | None = None) -> Born:
    """`errors`: for what it says on standard error, if that is to be kept apart."""
    assert Path(words[0]).name == "fairlead", "other programs are started by subprocess"
    if not _nurseries:
        _nurseries.append(_Nursery())
    return _nurseries[0].start(words, out, errors or out)


# In the nursery


def _serve(asks: socket.socket) -> dict[str, Any] | None:
    """Forks whenever it is asked to. Comes back in the fork with what was asked for, in the nursery with None."""
    living: dict[int, int] = {}  # by pid, where the end is told
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([asks.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            _bury(living)
        if asks.fileno() not in ready:
            continue
        message, files, _, _ = socket.recv_fds(asks, _MESSAGE_BYTES, 3)
        if not message:
            for pid in living:
                os.kill(pid, signal.SIGKILL)
            return None
        out, errors, tells = files
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for each in (asks.detach(), woken, wakes, tells, *living.values()):
                os.close(each)
            os.dup2(out, 1)
            os.dup2(errors, 2)
            os.close(out)
            os.close(errors)
            asked: dict[str, Any] = json.loads(message)
            return asked
        os.close(out)
        os.close(errors)
        living[pid] = tells
        asks.send(str(pid).encode())


def _bury(living: dict[int, int]) -> None:
    while living:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        told = living.pop(pid)
        with suppress(BrokenPipeError):  # nobody cares any more
            os.write(told, str(status).encode())
        os.close(told)


def _live(asked: dict[str, Any]) -> int:
    """What is asked for, as if it had been started by its words."""
    from fairlead.cli.main import main

    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["directory"])
    resource.setrlimit(resource.RLIMIT_NOFILE, tuple(asked["files"]))
    sys.argv = asked["words"]
    return main(sys.argv[1:])


def _main() -> int:
    import gc

    import fairlead.cli.control
    import fairlead.cli.main
    import fairlead.cli.up
    import fairlead.runtime.server.local_agents
    import fairlead.runtime.server.process  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for what it bore
    gc.freeze()
    asked = _serve(socket.socket(fileno=int(sys.argv[1])))
    return 0 if asked is None else _live(asked)


if __name__ == "__main__":
    sys.exit(_main())

"""Processes of `fairlead` that need not load it: one process per test run has loaded it, and forks for each.

    process = start([FAIRLEAD, "up", ...], log)      like subprocess.Popen(words, stdout=log, stderr=log)
    subprocess.run([command(), "get", ...])          a program that has its words run by a fork, and ends as that does

To load all of `fairlead up` takes more of a processor than everything a short test then asks of it, and hundreds of them
are started. What a fork runs is the same `main` with the same words, environment, directory and limits, in a process of
its own that can be killed; only the interpreter's start and the imports are left out, which those tests keep that start a
server by its command (`test_kill.py`, `test_status_and_stop.py`, pages that do).

`command()` is for commands that end by themselves: a signal to it reaches the fork, but for SIGKILL.

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
import tempfile
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

_MESSAGE_BYTES = 1 << 20
_ROOT = Path(__file__).parents[1]
# What `command()` runs. It imports next to nothing: to start an interpreter is all that it costs.
_CLIENT = """#!{python} -IS
import os, signal, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as nursery:
    nursery.connect({address!r})
    environment = b"\\0".join(name + b"=" + value for name, value in os.environb.items())
    words = b"\\0".join(map(os.fsencode, sys.argv))
    socket.send_fds(nursery, [b"\\1".join((os.getcwdb(), words, environment))], [0, 1, 2])
    pid = int(nursery.recv(64))
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, lambda number, _: os.kill(pid, number))
    status = int(nursery.recv(64) or signal.SIGKILL)
if os.WIFSIGNALED(status):
    signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
os._exit(os.waitstatus_to_exitcode(status))
"""


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
        self._folder = tempfile.TemporaryDirectory(prefix="nursery-")
        self.command = Path(self._folder.name) / "fairlead"
        address = f"{self._folder.name}/socket"
        self.command.write_text(_CLIENT.format(python=sys._base_executable, address=address))  # type: ignore[attr-defined]
        self.command.chmod(0o700)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listens = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, listens:
            listens.bind(address)
            listens.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.nursery", str(theirs.fileno()), str(listens.fileno())],
                pass_fds=[theirs.fileno(), listens.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)])},
            )

        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait(60)
        self._folder.cleanup()

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
    return _nursery().start(words, out, errors or out)


def command() -> Path:
    """A program named `fairlead`, for commands that end by themselves."""
    return _nursery().command


def _nursery() -> _Nursery:
    if not _nurseries:
        _nurseries.append(_Nursery())
    return _nurseries[0]


# In the nursery


def _serve(asks: socket.socket, listens: socket.socket) -> dict[str, Any] | None:
    """Forks whenever it is asked to. Comes back in the fork with what was asked for, in the nursery with None."""
    living: dict[int, int] = {}  # by pid, where the end is told
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        watched: list[socket.socket | int] = [asks, listens, woken]
        ready, _, _ = select.select(watched, [], [])
        if woken in ready:
            os.read(woken, 4096)
            _bury(living)
        if listens in ready:
            who, _ = listens.accept()
            message, files, _, _ = socket.recv_fds(who, _MESSAGE_BYTES, 3)
            if message:
                pid = os.fork()
                if not pid:
                    _leave((asks.detach(), listens.detach(), woken, wakes, who.detach(), *living.values()))
                    for number, file in enumerate(files):
                        os.dup2(file, number)
                        os.close(file)
                    return _commanded(message)
                who.send(str(pid).encode())
                living[pid] = who.detach()
            for file in files:
                os.close(file)
        if asks not in ready:
            continue
        message, files, _, _ = socket.recv_fds(asks, _MESSAGE_BYTES, 3)
        if not message:
            for pid in living:
                os.kill(pid, signal.SIGKILL)
            return None
        out, errors, tells = files
        pid = os.fork()
        if not pid:
            _leave((asks.detach(), listens.detach(), woken, wakes, tells, *living.values()))
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


def _leave(files: Iterable[int]) -> None:
    """What belongs to the nursery does not belong to the fork."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in files:
        os.close(each)


def _commanded(message: bytes) -> dict[str, Any]:
    """What a program of `command()` has sent."""
    directory, words, environment = message.split(b"\1", 2)
    pairs = (os.fsdecode(each).partition("=") for each in environment.split(b"\0"))
    return {
        "words": [os.fsdecode(each) for each in words.split(b"\0")],
        "environment": {name: value for name, _, value in pairs},
        "directory": os.fsdecode(directory),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    }


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
    import fairlead.cli.explain
    import fairlead.cli.main
    import fairlead.cli.up
    import fairlead.runtime.server.local_agents
    import fairlead.runtime.server.process  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for what it bore
    gc.freeze()
    asked = _serve(*(socket.socket(fileno=int(each)) for each in sys.argv[1:3]))
    return 0 if asked is None else _live(asked)


if __name__ == "__main__":
    sys.exit(_main())

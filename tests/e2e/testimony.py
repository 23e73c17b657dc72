"""What witnesses (`pod_witness.py`) wrote, as tests ask for it; and the processes around them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fairlead.runtime.node import locks as node_locks

WITNESS = Path(__file__).with_name("pod_witness.py")
T = TypeVar("T")


def eventually(condition: Callable[[], T], seconds: float = 120.0) -> T:
    """What `condition` returns once it is true."""
    deadline = time.monotonic() + seconds
    pause = 0.05
    while True:
        found = condition()
        if found:
            return found
        assert time.monotonic() < deadline, f"{condition} did not come true within {seconds:g} s"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.3)


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock that witnesses take. Asks only: who took it to see whether it is free would
    be met, for that moment, by a witness that begins."""
    asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    with open(path, "r+b") as file:
        answer = fcntl.fcntl(file, fcntl.F_GETLK, asked)
    return bool(struct.unpack("hhqqi", answer)[0] != fcntl.F_UNLCK)


class Testimony:
    __test__ = False

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir() if path.suffix != ".lock")

    def lines(self, name: str) -> list[tuple[str, int]]:
        path = self.directory / name
        text = path.read_text() if path.exists() else ""
        return [(line.split()[0], int(line.split()[1])) for line in text.splitlines()]

    def starts(self, name: str) -> list[int]:
        """The pids of all who began, in order."""
        return [pid for word, pid in self.lines(name) if word == "start"]

    def runs(self, name: str) -> bool:
        path = self.directory / f"{name}.lock"
        if not path.exists():
            return False
        return is_locked(path)

    def running(self) -> list[str]:
        return [name for name in self.names if self.runs(name)]

    def never_twice(self) -> None:
        for name in self.names:
            assert "twice" not in [word for word, _ in self.lines(name)], (
                f"{name} ran twice: {self.lines(name)}"
            )


def template(
    directory: Path, labels: dict[str, str], name: str = "$(POD_NAME)", **spec: Any
) -> dict[str, Any]:
    """A pod of one witness."""
    container = {
        "name": "witness",
        "image": "process",
        "command": [sys.executable, "-I", "-S", str(WITNESS), str(directory), name],
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    }
    return {
        "metadata": {"labels": labels},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 5, **spec},
    }


def deployment(directory: Path, name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template(directory, labels, **spec),
        },
    }


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def agent_pid(data: Path, node: str) -> int:
    """0 while none holds the node's directory."""
    return node_locks.holder(data / "nodes" / node) or 0


def end_all(data: Path) -> None:
    """Whatever a test that failed has left: all that works in this directory or was started with its name."""
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                mine = (
                    str(data) in os.readlink(process / "cwd")
                    or str(data) in (process / "cmdline").read_text()
                )
            except (OSError, UnicodeDecodeError):
                continue
            if mine:
                _kill(int(process.name))


def _kill(pid: int) -> None:
    if pid > 1 and pid != os.getpid():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

"""A node's directory belongs to one agent at a time: a lock that ends with its process, with the pid beside it.

Held by `fairlead agent` for as long as it runs; looked at by `runtime/server/local_nodes.py`, which must not start a
second agent beside one that outlived the server it was started by.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from fairlead.core.errors import DataDirectoryBusy
from fairlead.runtime.private_files import make_private_directory, open_lock

LOCK = "agent.lock"
_TRIES, _PAUSE_SECONDS = 10, 0.02


def hold(directory: Path, name: str) -> int:
    """Take the lock and keep it until this process ends; returns its descriptor."""
    make_private_directory(directory)
    descriptor = open_lock(directory / LOCK)
    if not _taken(descriptor):
        pid = _pid(descriptor)
        os.close(descriptor)
        by = f" (process {pid})" if pid else ""
        raise DataDirectoryBusy(
            f"an agent of node {name} runs already on {directory}{by}: stop it, or choose another --name and"
            " --data-dir"
        )
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def _taken(descriptor: int) -> bool:
    """Tried for a moment: whoever only looks (`holder`) has it for as long as it takes to look."""
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE_SECONDS)
        else:
            return True
    return False


def is_held(directory: Path, descriptor: int) -> bool:
    """Whether the lock that `hold` took still guards this directory: who removes it lets a second agent in."""
    try:
        return os.path.samestat((directory / LOCK).stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
    except OSError:
        return True  # not known: a disk that fails for a moment is no other agent


def holder(directory: Path) -> int | None:
    """The pid of the agent that has this directory, 0 if it has not told it yet; None if there is none."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDWR)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _pid(descriptor)
    finally:
        os.close(descriptor)
    return None


def _pid(descriptor: int) -> int:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else 0

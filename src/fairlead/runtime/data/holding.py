"""Who holds a data directory, seen from outside and without touching its lock; and the asking of that process to stop.

Used by `fairlead status` and `stop`. The kernel's table of locks is read instead of trying the lock: whoever tries it
has it for a moment, and a server that starts in that moment would be refused.
"""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path
from typing import NamedTuple

LOCKS = Path("/proc/locks")


class Holder(NamedTuple):
    pid: int
    since: float  # seconds since the epoch


def holder(data_dir: Path, table: Path = LOCKS) -> Holder | None:
    """None: nobody has it open."""
    try:
        lock = (data_dir / "lock").stat()
        lines = table.read_text().splitlines()
    except FileNotFoundError:
        return None
    wanted = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
    for line in lines:
        # 1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF; those that wait for a lock have an arrow before FLOCK
        words = line.split()
        if len(words) > 5 and words[1] == "FLOCK" and words[5] == wanted:
            pid = int(words[4]) if words[4].isdigit() and words[4] != "0" else _written(data_dir)
            return Holder(pid, lock.st_mtime)
    return None


def _written(data_dir: Path) -> int:
    """The holder's own word, where the kernel does not say: it may be of another namespace."""
    text = (data_dir / "lock").read_text(errors="replace").strip()
    return int(text) if text.isdigit() else 0


class HolderProcess:
    """The holder, held fast: its number cannot become another process's meanwhile."""

    def __init__(self, found: Holder) -> None:
        self._descriptor = os.pidfd_open(found.pid)

    def ask_to_stop(self) -> None:
        signal.pidfd_send_signal(self._descriptor, signal.SIGTERM)

    def ended(self, seconds: float) -> bool:
        """Waits at most so long."""
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        return bool(poller.poll(seconds * 1000))

    def close(self) -> None:
        os.close(self._descriptor)

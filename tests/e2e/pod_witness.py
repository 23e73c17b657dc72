"""A pod's process that can testify: it holds a lock while it lives and writes down its start and its end.

Run as the command of pods: `python3 pod_witness.py DIRECTORY NAME`. Whether something runs, how often it was started
and whether it ever ran twice at once is judged from its files (`testimony.py`), never from what a status says. Standard
library only, and quick.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time


def main(directory: str, name: str) -> None:
    diary = os.open(f"{directory}/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    lock = os.open(f"{directory}/{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)

    def note(word: str) -> None:
        os.write(diary, f"{word} {os.getpid()}\n".encode())

    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # EAGAIN or EACCES: another holds it
        note("twice")
        sys.exit(9)

    def end(number: int, frame: object) -> None:
        note("stop")
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    note("start")
    while True:
        time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

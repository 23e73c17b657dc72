"""A sample process that bears witness: it takes a lock and appends `start` and `stop` to a file.

    python witness.py FILE [ignore-term] [children [stubborn-children]] [print] [exit=N]

Whether anything ran twice, or was left over, is judged from that file and the locks beside it, not from what a
supervisor says. `children` forks one that stays and one in a session of its own, whose parent is gone.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from pathlib import Path


def append(path: str, line: str) -> None:
    with open(path, "a", encoding="ascii") as file:
        file.write(f"{line} {os.getpid()}\n")


def bear_witness(path: str, role: str, options: list[str]) -> None:
    lock = os.open(f"{path}.{role}", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # EAGAIN or EACCES: another holds it
        append(path, f"twice {role}")
        sys.exit(99)

    def stop(*_: object) -> None:
        append(path, f"stop {role}")
        os._exit(0)

    stubborn = "ignore-term" in options or ("stubborn-children" in options and role != "main")
    signal.signal(signal.SIGTERM, signal.SIG_IGN if stubborn else stop)
    append(path, f"start {role}")


def stay() -> None:
    while True:
        time.sleep(3600)


def main(path: str, *options: str) -> None:
    chosen = list(options)
    if "children" in chosen:
        if os.fork() == 0:
            bear_witness(path, "child", chosen)
            stay()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                bear_witness(path, "daemon", chosen)
                stay()
            os._exit(0)
    bear_witness(path, "main", chosen)
    if "print" in chosen:
        while True:
            os.write(1, b"x" * 65536)
    for option in chosen:
        if option.startswith("exit="):
            while "children" in chosen and Path(path).read_text().count("start") < 3:
                time.sleep(0.01)
            append(path, "exit main")
            os._exit(int(option.removeprefix("exit=")))
    stay()


if __name__ == "__main__":
    main(*sys.argv[1:])

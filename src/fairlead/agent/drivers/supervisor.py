"""What the driver starts for each pod: `python -I -S -E supervisor.py 3 DEADLINE`, its agent as fd 0.

3 is the descriptor of its directory, DEADLINE an instant of CLOCK_BOOTTIME. Holds the lock of the directory for as long
as it lives, so that nobody has to guess whether it does. All else is in `supervising.py`, a module of its own because
those are compiled only once.
"""

from __future__ import annotations

import fcntl
import os
import sys

LOCK = "lock"
ALREADY_RUNNING = 3
DIRECTORY_FD = 3


def main(directory: str, deadline: str) -> int:
    os.chdir(int(directory))
    os.close(int(directory))  # before anything is started that would have it, too
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return ALREADY_RUNNING
    if os.getsid(0) != os.getpid():
        os.setsid()
    # At the end, so that nothing there takes the place of a module of the standard library.
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    sys.path.append(package)
    from fairlead.agent.drivers.supervising import Supervisor

    first = os.dup(0)
    os.dup2(1, 0)
    Supervisor(float(deadline), first).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

"""A user namespace for a container that does not run as root: nobody looks into it who merely has the same user.

The kernel lets a process read another one's memory, variables and files (/proc/PID/root) if both have the same user and
neither has more capabilities, but not across user namespaces. All users mean the same inside as outside, so nothing
else changes. Used by `launching.py` in the child, as root, before it switches to its user. Standard library only.
"""

from __future__ import annotations

import os

from fairlead.agent.drivers import mount_calls

_EVERYBODY = b"0 0 4294967295"


def separate() -> None:
    """Only whoever is outside may say who is inside: a child that stays there for so long. OSError if it could not."""
    process = os.getpid()
    begun, begin = os.pipe2(os.O_CLOEXEC)
    helper = os.fork()
    if helper == 0:
        code = 1
        try:
            os.close(begin)
            if os.read(begun, 1):
                _map(process)
                code = 0
        finally:
            os._exit(code)
    os.close(begun)
    try:
        mount_calls.unshare(mount_calls.NEW_USERS)
        os.write(begin, b"1")
    finally:
        os.close(begin)
        status = os.waitpid(helper, 0)[1]
    if status:
        raise OSError(1, "the users of its namespace could not be set")


def _map(process: int) -> None:
    for name in ("uid_map", "gid_map"):
        file = os.open(f"/proc/{process}/{name}", os.O_WRONLY)
        os.write(file, _EVERYBODY)


def attempt() -> None:
    """Whether this user may do that on this machine: does it, for the process that calls."""
    separate()
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

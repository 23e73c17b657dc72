"""Capabilities and no_new_privs of the process that calls. Used by `launching.py` in the child. Standard library
only."""

from __future__ import annotations

import ctypes
import os

_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_VERSION_3, _CAPABILITIES = 0x20080522, 64
_EINVAL = 22
_LIBC = ctypes.CDLL(None, use_errno=True)


def limit_capabilities(mask: int) -> None:
    """No program that it becomes ever has another capability than these. Needs the right to, so before
    `keep_capabilities`."""
    for number in range(_CAPABILITIES):
        if not mask >> number & 1 and _LIBC.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0):
            error = ctypes.get_errno()
            if error == _EINVAL:
                return  # the kernel has no more of them
            raise OSError(error, f"prctl(PR_CAPBSET_DROP): {os.strerror(error)}")


def keep_capabilities(mask: int) -> None:
    """Keeps these of those that it has."""
    head = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; low halves, then high ones
    if _LIBC.capget(head, sets):
        raise OSError(ctypes.get_errno(), "capget")
    for half in (0, 1):
        kept = sets[half * 3 + 1] & (mask >> (32 * half)) & 0xFFFFFFFF
        sets[half * 3], sets[half * 3 + 1], sets[half * 3 + 2] = kept, kept, 0
    if _LIBC.capset(head, sets):
        raise OSError(ctypes.get_errno(), "capset")


def gain_none() -> None:
    """Neither setuid programs nor capabilities of files give it anything."""
    if _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")

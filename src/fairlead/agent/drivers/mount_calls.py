"""The kernel's calls for mount namespaces, which Python does not have: thin, each with its OSError.

Used by `private_mounts.py` in a child of the supervisor. Mounts are made and moved by descriptor (open_tree,
move_mount, fsopen, mount_setattr: Linux 5.12), so that no path is looked up twice. Standard library only.
"""

from __future__ import annotations

import ctypes
import os

NEW_USERS, NEW_MOUNTS = 0x10000000, 0x00020000
READ_ONLY, NO_SUID, NO_DEVICES = 1, 2, 4
_OPEN_TREE, _MOVE_MOUNT, _FSOPEN, _FSCONFIG, _FSMOUNT, _MOUNT_SETATTR = 428, 429, 430, 431, 432, 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "loongarch64": 41, "ppc64le": 203, "s390x": 217}
_EMPTY_PATH, _RECURSIVE, _NOFOLLOW, _CLONE, _CLOEXEC = 0x1000, 0x8000, 0x100, 1, os.O_CLOEXEC
_FROM_EMPTY_PATH, _TO_EMPTY_PATH = 0x4, 0x40
_FS_CLOEXEC, _SET_STRING, _CREATE = 1, 1, 6
_PRIVATE, _DETACH = 1 << 18, 2
_ENOSYS = 38
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("namespace", ctypes.c_uint64),
    )


def _call(what: str, number: int, *arguments: object) -> int:
    given = [
        ctypes.c_long(each)
        if isinstance(each, int)
        else ctypes.c_char_p(each)
        if each is None or isinstance(each, bytes)
        else each
        for each in arguments
    ]
    result = int(_LIBC.syscall(ctypes.c_long(number), *given))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def unshare(flags: int) -> None:
    if _LIBC.unshare(flags):
        error = ctypes.get_errno()
        raise OSError(error, f"unshare: {os.strerror(error)}")


def join(namespace: int, flags: int) -> None:
    if _LIBC.setns(namespace, flags):
        error = ctypes.get_errno()
        raise OSError(error, f"setns: {os.strerror(error)}")


def set_attributes(mount: int, *, give: int = 0, take: int = 0, private: bool = False) -> None:
    """Of a mount and all that are mounted in it."""
    attributes = _Attributes(give, take, _PRIVATE if private else 0, 0)
    size = ctypes.sizeof(attributes)
    _call(
        "mount_setattr", _MOUNT_SETATTR, mount, b"", _EMPTY_PATH | _RECURSIVE, ctypes.byref(attributes), size
    )


def clone(base: int, name: str = "") -> int:
    """A copy of a file or directory, with all that is mounted in it, that is mounted nowhere yet."""
    flags = _CLONE | _CLOEXEC | _RECURSIVE | _NOFOLLOW | (0 if name else _EMPTY_PATH)
    return _call("open_tree", _OPEN_TREE, base, os.fsencode(name), flags)


def move(mount: int, point: int) -> None:
    """Put it where the descriptor `point` is."""
    _call("move_mount", _MOVE_MOUNT, mount, b"", point, b"", _FROM_EMPTY_PATH | _TO_EMPTY_PATH)


def new_tmpfs(bytes_max: int, files_max: int) -> int:
    """An empty file system in memory that is mounted nowhere yet."""
    system = _call("fsopen", _FSOPEN, b"tmpfs", _FS_CLOEXEC)
    try:
        for key, value in (("mode", "0755"), ("size", str(bytes_max)), ("nr_inodes", str(files_max))):
            _call("fsconfig", _FSCONFIG, system, _SET_STRING, key.encode(), value.encode(), 0)
        _call("fsconfig", _FSCONFIG, system, _CREATE, None, None, 0)
        return _call("fsmount", _FSMOUNT, system, _FS_CLOEXEC, NO_SUID | NO_DEVICES)
    finally:
        os.close(system)


def become_root(directory: int) -> None:
    """Make it the root of this namespace, and forget the one before."""
    number = _PIVOT_ROOT.get(os.uname().machine)
    if number is None:
        raise OSError(_ENOSYS, "pivot_root: not known on this machine")
    os.fchdir(directory)
    _call("pivot_root", number, b".", b".")
    if _LIBC.umount2(b".", _DETACH):
        error = ctypes.get_errno()
        raise OSError(error, f"umount2: {os.strerror(error)}")
    os.chdir("/")

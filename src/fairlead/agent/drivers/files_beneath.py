"""Files under a pod's directory, opened by descriptor, beneath it, and never through a link.

A pod may replace whatever it can write by a link, at any moment: as long as a path is resolved by name, the agent would
then read, write, give away or remove somebody else's file. Every path that a pod could have touched is opened here: one
call of openat2(2) with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS, or, where the kernel has none, one component after the
other with O_NOFOLLOW. Whoever needs more than one step holds the descriptor between them. `directories.py`, `state.py`,
`log_files.py` and `supervisor_link.py` use it. Standard library only.

    open_beneath(base, "volumes/data/a", O_RDONLY)    a file or directory; a link in the way is an OSError (ELOOP)
    make_directories(base, "etc/app")                 every one of them, and the last one's descriptor
    write_new(base, "state.json", b"...")             a file of our own, whatever lay there before
    remove_tree(base, "UID")                          all of it, however deep, a few descriptors at a time
"""

from __future__ import annotations

import ctypes
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ELOOP = 40
_EPERM, _EINTR, _EAGAIN, _EXDEV, _ENOTDIR, _ENOSYS = (
    1,
    4,
    11,
    18,
    20,
    38,
)  # their module costs more than they do
_TRIES_MAX = 64  # of one openat2 that something renames under, before it goes step by step
HERE = -100  # AT_FDCWD: the working directory as a base
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
THROUGH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # also one that may not be listed
#: bound: processes | a pod's own files that the agent reads | cut
READ_BYTES_MAX = 4 * 1024 * 1024
_OPENAT2 = 437
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


class _Kernel:
    """Whether it has openat2; found out at the first call."""

    has_openat2 = True


def open_beneath(base: int, path: str, flags: int, mode: int = 0) -> int:
    """A descriptor. OSError: ELOOP for a link on the way or at its end."""
    flags |= os.O_CLOEXEC
    if _Kernel.has_openat2:
        # Without O_NOFOLLOW, by which O_PATH would open a link itself.
        how = _How(
            flags & ~os.O_NOFOLLOW,
            mode if flags & os.O_CREAT else 0,
            _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH,
        )
        for _ in range(_TRIES_MAX):
            fd = int(
                _LIBC.syscall(
                    ctypes.c_long(_OPENAT2),
                    ctypes.c_long(base),
                    ctypes.c_char_p(os.fsencode(path)),
                    ctypes.byref(how),
                    ctypes.c_long(ctypes.sizeof(how)),
                )
            )
            if fd >= 0:
                return fd
            number = ctypes.get_errno()
            if number in (_EINTR, _EAGAIN):  # EAGAIN: something was renamed on the way
                continue
            if number not in (
                _ENOSYS,
                _EPERM,
            ):  # EPERM: of a filter of system calls that does not know this one
                raise OSError(number, os.strerror(number), path)
            _Kernel.has_openat2 = number != _ENOSYS
            break
    return _open_by_component(base, path, flags, mode)


def _open_by_component(base: int, path: str, flags: int, mode: int) -> int:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or path.startswith("/"):
        raise OSError(_EXDEV, os.strerror(_EXDEV), path)  # as openat2 has it
    here = base
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            if here != base:
                os.close(here)
            here = below
        last = parts[-1] if parts else "."
        fd = os.open(last, flags | os.O_NOFOLLOW, mode, dir_fd=here)
    finally:
        if here != base:
            os.close(here)
    if flags & os.O_PATH and stat.S_ISLNK(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(ELOOP, os.strerror(ELOOP), path)
    return fd


def make_directories(base: int, path: str, mode: int = 0o755, flags: int = DIRECTORY) -> int:
    """A descriptor of the last, opened with these flags; those that are missing are made, with this mode whatever the
    umask."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    here = os.open(".", THROUGH if parts else flags, dir_fd=base)
    for count, part in enumerate(parts, 1):
        wanted = flags if count == len(parts) else THROUGH
        try:
            below = open_beneath(here, part, wanted)
        except FileNotFoundError:
            os.mkdir(part, 0o700, dir_fd=here)
            made = open_beneath(here, part, DIRECTORY)
            os.fchmod(made, mode)
            os.close(made)
            below = open_beneath(here, part, wanted)
        finally:
            os.close(here)
        here = below
    return here


def read_file(base: int, path: str) -> bytes:
    """OSError where there is no plain file: a pipe would be waited for, a link to a device never ends."""
    fd = open_beneath(base, path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(ELOOP, "not a plain file", path)
        return os.read(fd, READ_BYTES_MAX)
    finally:
        os.close(fd)


def create(base: int, name: str, mode: int = 0o600) -> int:
    """A new, empty file to write to, in place of whatever had that name: also of one with a second name elsewhere,
    which would be written there too."""
    try:
        os.unlink(name, dir_fd=base)
    except FileNotFoundError:
        pass  # as it should be
    return os.open(
        name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=base
    )


def write_new(base: int, name: str, content: bytes, mode: int = 0o600) -> None:
    fd = create(base, name, mode)
    try:
        os.fchmod(fd, mode)
        while content:
            content = content[os.write(fd, content) :]
    finally:
        os.close(fd)


def link_at(base: int, name: str) -> str | None:
    """Where a link leads; None where there is none."""
    try:
        return os.readlink(name, dir_fd=base)
    except OSError:
        return None


def remove_tree(base: int, name: str) -> None:
    """Directories in directories come up to the first one, so that a deep tree needs neither a deep stack nor many
    descriptors. OSError if something cannot be removed; nothing at all is no error."""
    try:
        top = _enter(base, name)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (ELOOP, _ENOTDIR):
            raise
        os.unlink(name, dir_fd=base)
        return
    try:
        number = 0
        waiting = list(_clear(top))
        while waiting:
            entry = waiting.pop()
            below = _enter(top, entry)
            try:
                for child in _clear(below):
                    number += 1
                    up = f".{number}"
                    while is_there(top, up):
                        number += 1
                        up = f".{number}"
                    os.close(_enter(below, child))
                    os.rename(child, up, src_dir_fd=below, dst_dir_fd=top)
                    waiting.append(up)
            finally:
                os.close(below)
            os.rmdir(entry, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=base)


def _enter(base: int, name: str) -> int:
    """A directory, made writable for us first where its owner took that away."""
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=base)
    try:
        if os.geteuid() != 0 and os.fstat(place).st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{place}", 0o700)
        return os.open(".", DIRECTORY, dir_fd=place)
    finally:
        os.close(place)


def _clear(directory: int) -> Iterator[str]:
    """Removes all but the directories in it, and names those."""
    with os.scandir(directory) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_directory in listed:
        if is_directory:
            yield name
        else:
            os.unlink(name, dir_fd=directory)


def is_there(base: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=base, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True

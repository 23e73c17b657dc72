"""Files that only their owner may read, replaced whole or not at all: keys, digests, kubeconfigs, backups.

Used by `credentials/identity.py`, `credentials/token_file.py`, `credentials/kubeconfig.py` and the backup command.
Whatever the operating system refuses becomes a DataDirectoryError that names the file and the next step.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fairlead.core.errors import DataDirectoryError, UsageError

OWNER_ONLY = 0o600


def write_private(path: Path, data: bytes) -> None:
    """Replace `path` atomically and durably: a crash leaves the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNER_ONLY)
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(file.fileno(), OWNER_ONLY)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)
    except OSError as error:
        raise unwritable_error(path, error) from error


@contextmanager
def new_private(path: Path) -> Iterator[IO[bytes]]:
    """A file that was not there before, to be written; it is gone again if that fails."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, OWNER_ONLY)
    except FileExistsError as error:
        raise UsageError(f"{path} exists: remove it, or name another file") from error
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; name another file") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, OWNER_ONLY)
            yield file
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sync_directory(directory: Path) -> None:
    """Make a rename in this directory survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private_directory(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable_error(path, error) from error


def read_private(path: Path) -> bytes | None:
    """The content, or None if there is no such file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataDirectoryError(
            f"cannot read {path}: {error.strerror}; run as the user who owns it, or correct its permissions"
        ) from error


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Hold a lock file: read-change-write of its neighbour is then one step for all who do the same."""
    descriptor = open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def open_lock(path: Path) -> int:
    """The descriptor of a lock file, which nobody has locked by that."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY)
    except OSError as error:
        raise unwritable_error(path, error) from error


def unwritable_error(path: Path, error: OSError) -> DataDirectoryError:
    return DataDirectoryError(
        f"cannot write {path}: {error.strerror}; choose another place with --data-dir, or correct its"
        " permissions"
    )

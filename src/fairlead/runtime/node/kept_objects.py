"""What an agent keeps on its machine for the next one: pods, its Node, Services, ConfigMaps and Secrets, as JSON.

    NODE/kept/                     0700
    NODE/kept/RESOURCE/DIGEST      0600: a line `NAMESPACE/NAME`, then the object; nothing, if it is known to be absent

Made by `process.py`; `driver.py` hands over each Keep. An agent that starts where no API answers runs its
pods by it (`agent/machine.py`). One file per object, replaced whole, written off the loop, the newest for each object
only. It is not synced: a file that a power cut left empty or half is not believed. Where the disk is full it is said
once and tried again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import msgspec

from fairlead.agent.contract import Keep

#: bound: processes | until an agent that could not keep an object on its machine tries again | said once
TRY_AGAIN_SECONDS = 5.0
_NEW = ".new"


class KeptObjects:
    def __init__(self, directory: Path, tell: Callable[[str], None]) -> None:
        """`tell` gets a sentence for whoever runs the node when nothing can be kept, once."""
        self._directory = directory
        self._tell = tell
        self._waiting: dict[Path, Keep] = {}
        self._writing: asyncio.Task[None] | None = None
        self._told = False

    def load(self) -> tuple[Keep, ...]:
        """All that can be read, in the order of file names. Blocks for a moment."""
        found = []
        for path in sorted(self._directory.glob("*/*")):
            kept = _read(path)
            if kept is not None:
                found.append(kept)
        return tuple(found)

    def keep(self, given: Keep) -> None:
        """Returns at once."""
        name = blake2b(f"{given.namespace}/{given.name}".encode(), digest_size=16).hexdigest()
        self._waiting[self._directory / given.resource / name] = given
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write_all())

    async def close(self) -> None:
        """Write what waits, once more."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        for path, given in self._waiting.items():
            try:
                _write(path, given)
            except OSError:
                return  # it was said before

    async def _write_all(self) -> None:
        while self._waiting:
            path, given = next(iter(self._waiting.items()))
            try:
                await asyncio.to_thread(_write, path, given)
            except OSError as error:
                if not self._told:
                    self._told = True
                    self._tell(
                        f"cannot keep {path}: {error.strerror}: an agent that starts without a server needs it"
                    )
                await asyncio.sleep(TRY_AGAIN_SECONDS)
                continue
            if self._waiting.get(path) is given:
                del self._waiting[path]
        self._writing, self._told = None, False


def _write(path: Path, given: Keep) -> None:
    if given.data is None:
        path.unlink(missing_ok=True)
        return
    for directory in (path.parent.parent, path.parent):
        directory.mkdir(mode=0o700, exist_ok=True)
    new = path.with_name(path.name + _NEW)
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(f"{given.namespace}/{given.name}\n".encode() + given.data)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _read(path: Path) -> Keep | None:
    if path.name.endswith(_NEW):
        return None
    try:
        head, line, data = path.read_bytes().partition(b"\n")
        namespace, slash, name = head.decode().partition("/")
        if data:
            msgspec.json.decode(data, type=dict)
    except (OSError, ValueError):
        return None
    return Keep(path.parent.name, namespace, name, data) if line and slash and name else None

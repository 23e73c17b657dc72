"""A pod's directory: made as a whole or not at all, its volumes and mounts, and its end.

    pods/UID/pod.json           who it is
    pods/UID/state.json         what its supervisor knows (`state.py`)
    pods/UID/socket, lock       its supervisor's
    pods/UID/supervisor.log     only if the supervisor itself failed
    pods/UID/logs/CONTAINER/    `log_files.py`
    pods/UID/volumes/NAME/      files of a volume; those of ConfigMaps and Secrets are swapped all at once
    pods/UID/roots/CONTAINER/   $FAIRLEAD_ROOT: mounts are links in there

Called by `pod.py`, off the loop. OSErrors go to the caller, who tells them; what cannot be right is a ValueError.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from fairlead.agent.contract import ContainerRun, Mount, Open, Volume
from fairlead.agent.drivers.limits import Cgroups
from fairlead.agent.drivers.state import read_file

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_THROUGH, _OWN, _ANYBODY = 0o711, 0o700, 0o777  # others may pass, but not look around
_NEW, _GONE = ".new-", ".gone-"
_CURRENT = "..data"


class PodIdentity(msgspec.Struct, frozen=True):
    uid: str
    namespace: str
    name: str
    address: str
    cgroup_version: int = (
        0  # where its cgroups are made, as found when it was opened: the agent itself may move
    )
    cgroup_bases: dict[str, str] = {}


class PodDirectory:
    def __init__(self, parent: Path, uid: str) -> None:
        self.path = parent / _safe(uid, "the pod's uid")
        self._parent = parent
        self._uid = uid

    @property
    def exists(self) -> bool:
        return (self.path / "pod.json").exists()

    def identity(self) -> PodIdentity:
        """OSError or ValueError if it cannot be read."""
        try:
            return msgspec.json.decode(read_file(str(self.path / "pod.json")), type=PodIdentity)
        except msgspec.DecodeError as error:
            raise ValueError(f"{self.path}/pod.json is damaged: {error}") from None

    def make(self, wanted: Open, cgroups: Cgroups | None) -> None:
        """All of it under another name, which becomes the right one last."""
        new = self._parent / f"{_NEW}{self._uid}"
        shutil.rmtree(new, ignore_errors=True)
        try:
            new.mkdir(_THROUGH)
            for name, mode in (("volumes", _THROUGH), ("roots", _THROUGH), ("logs", _OWN)):
                (new / name).mkdir(mode)
            for volume in wanted.volumes:
                _fill(new / "volumes" / _safe(volume.name, "a volume's name"), volume)
            version, bases = (cgroups.version, cgroups.bases) if cgroups is not None else (0, {})
            identity = PodIdentity(wanted.uid, wanted.namespace, wanted.name, wanted.address, version, bases)
            (new / "pod.json").write_bytes(msgspec.json.encode(identity))
            new.rename(self.path)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise

    def refresh(self, volumes: Iterable[Volume]) -> None:
        for volume in volumes:
            _fill(self.path / "volumes" / _safe(volume.name, "a volume's name"), volume)

    def log_directory(self, container: str) -> Path:
        return self.path / "logs" / _safe(container, "a container's name")

    def root(self, run: ContainerRun) -> Path:
        """The container's own root, with its mounts in place."""
        root = self.path / "roots" / _safe(run.name, "a container's name")
        root.mkdir(_OWN, exist_ok=True)
        temporary = root / "tmp"
        temporary.mkdir(_OWN, exist_ok=True)
        if os.geteuid() == 0 and (run.user is not None or run.group is not None):
            for path in (root, temporary):
                os.chown(path, -1 if run.user is None else run.user, -1 if run.group is None else run.group)
        for mount in sorted(run.mounts, key=lambda each: _inside(each.path, "mountPath").count("/")):
            self._mount(root, mount, run)  # what others lie in comes first
        return root

    def _mount(self, root: Path, mount: Mount, run: ContainerRun) -> None:
        inner = _inside(mount.path, "mountPath")
        source = self.path / "volumes" / _safe(mount.volume, "a volume's name")
        if not source.is_dir():
            raise ValueError(f"volumeMounts of container {run.name}: there is no volume {mount.volume!r}")
        if os.geteuid() == 0 and run.user not in (None, 0):
            source.chmod(source.stat().st_mode | 0o055)
        if mount.sub_path:
            source = source / _inside(mount.sub_path, "subPath")
            if not source.exists() and not (source.parent / _CURRENT).exists():
                source.mkdir(parents=True)
                source.chmod(_ANYBODY)
        link = root / inner
        if link == root:
            raise ValueError(f"volumeMounts of container {run.name}: mountPath must not be /")
        if link.is_symlink() and link.readlink() == source:
            return
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink():
            link.unlink()
        elif link.is_dir():
            link.rmdir()  # what a mount point would hide must be empty: it could hold the work of an earlier run
        link.symlink_to(source)

    def remove(self) -> None:
        """At once for whoever looks; then in fact."""
        gone = self._parent / f"{_GONE}{self._uid}"
        if self.path.exists():
            shutil.rmtree(gone, ignore_errors=True)
            self.path.rename(gone)
        if gone.exists():
            shutil.rmtree(gone)


def tidy(parent: Path) -> tuple[list[str], list[str]]:
    """Remove what a kill left half made or half removed. Returns the uids that are whole, and those that a cut of the
    power has damaged: they are good for nothing but removal, once nothing of them runs."""
    whole, damaged = [], []
    for entry in sorted(parent.iterdir()):
        if entry.name.startswith((_NEW, _GONE)):
            shutil.rmtree(entry, ignore_errors=True)
        elif entry.is_dir():
            try:
                PodDirectory(parent, entry.name).identity()
            except (OSError, ValueError):
                damaged.append(entry.name)
            else:
                whole.append(entry.name)
    return whole, damaged


def _safe(name: str, what: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{what} {name!r} cannot be the name of a directory")
    return name


def _inside(path: str, what: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(f"{what} {path!r} must not contain '..'")
    return "/".join(parts)


def _fill(directory: Path, volume: Volume) -> None:
    if volume.files is None:
        if not directory.is_dir():
            directory.mkdir()
            directory.chmod(_ANYBODY)
        return
    if not directory.is_dir():
        directory.mkdir(_OWN)
    wanted = {_inside(path, f"volume {volume.name}"): (content, mode) for path, content, mode in volume.files}
    current = directory / _CURRENT
    if current.is_dir() and _content(current) == wanted:
        return
    old = current.readlink() if current.is_symlink() else None
    new = directory / f"..{1 if old is None else int(old.name.lstrip('.')) + 1}"
    shutil.rmtree(new, ignore_errors=True)
    try:
        new.mkdir(0o755)
        for path, (content, mode) in wanted.items():
            file = new / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            file.chmod(mode & 0o777)
        swap = directory / "..swap"
        swap.unlink(missing_ok=True)
        swap.symlink_to(new.name)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    swap.replace(current)
    tops = {path.partition("/")[0] for path in wanted}
    for top in tops:
        if not (directory / top).is_symlink():
            (directory / top).symlink_to(f"{_CURRENT}/{top}")
    for entry in directory.iterdir():
        ours = entry.is_symlink() and entry.readlink().parts[:1] == (_CURRENT,)  # not a mount inside this one
        if ours and entry.name not in tops:
            entry.unlink()
    if old is not None:
        shutil.rmtree(directory / old, ignore_errors=True)


def _content(directory: Path) -> dict[str, tuple[bytes, int]]:
    base = directory.resolve()
    return {
        file.relative_to(base).as_posix(): (file.read_bytes(), file.stat().st_mode & 0o777)
        for file in base.rglob("*")
        if file.is_file()
    }

"""A pod's directory: made as a whole or not at all, its volumes and mounts, and its end.

    pods/UID/pod.json           who it is
    pods/UID/state.json         what its supervisor knows (`state.py`)
    pods/UID/socket, lock       its supervisor's
    pods/UID/supervisor.log     only if the supervisor itself failed
    pods/UID/logs/CONTAINER/    `log_files.py`
    pods/UID/volumes/NAME/      files of a volume (`volume_files.py`)
    pods/UID/roots/CONTAINER/   $FAIRLEAD_ROOT: mounts are links in there

pods/UID is closed to everybody but the agent and the pod's own group (`pod_group`): inside, the pod's containers share
what they mount, whatever users they run as. Everything in it is opened by descriptor and without links
(`files_beneath.py`): a pod may have put any there. Called by `pod.py`, off the loop. OSErrors go to the caller, who
tells them; what cannot be right is a ValueError.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from fairlead.agent.contract import ContainerRun, Mount, Open, Volume
from fairlead.agent.drivers import files_beneath
from fairlead.agent.drivers.limits import Cgroups
from fairlead.agent.drivers.private_mounts import CURRENT, open_volume
from fairlead.agent.drivers.volume_files import fill, path_inside

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_THROUGH, _OWN, _GROUP_THROUGH, _ANYBODY = 0o711, 0o700, 0o710, 0o777
_NEW, _GONE = ".new-", ".gone-"
_TEMPORARY = "tmp"
_GROUPS_FROM, _GROUPS = 2_000_000_000, 100_000_000  # of pods, far above those that people give


class PodIdentity(msgspec.Struct, frozen=True):
    uid: str
    namespace: str
    name: str
    address: str
    cgroup_version: int = (
        0  # where its cgroups are made, as found when it was opened: the agent itself may move
    )
    cgroup_bases: dict[str, str] = {}
    group: int | None = (
        None  # whoever is in it may enter the pod's directory; None: by their user, or not at all
    )
    fs_group: int | None = None
    private_mounts: bool = False  # its containers have files of their own


class PodDirectory:
    def __init__(self, parent: Path, uid: str) -> None:
        self.path = parent / _safe(uid, "the pod's uid")
        self._parent = parent
        self._uid = uid

    @property
    def exists(self) -> bool:
        try:
            os.close(self.open("pod.json", os.O_PATH))
        except OSError:
            return False
        return True

    def open(self, inner: str = ".", flags: int = files_beneath.DIRECTORY) -> int:
        """A descriptor of what is in it. OSError; ELOOP for a link."""
        base = os.open(self._parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return files_beneath.open_beneath(base, f"{self._uid}/{inner}", flags)
        finally:
            os.close(base)

    def identity(self) -> PodIdentity:
        """OSError or ValueError if it cannot be read."""
        directory = self.open()
        try:
            return msgspec.json.decode(files_beneath.read_file(directory, "pod.json"), type=PodIdentity)
        except msgspec.DecodeError as error:
            raise ValueError(f"{self.path}/pod.json is damaged: {error}") from None
        finally:
            os.close(directory)

    def make(self, wanted: Open, cgroups: Cgroups | None, private_mounts: bool = False) -> None:
        """All of it under another name, which becomes the right one last. `private_mounts`: its containers reach
        their files by mounts of their own, nobody needs to pass through here."""
        new = f"{_NEW}{self._uid}"
        parent = os.open(self._parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            files_beneath.remove_tree(parent, new)
            try:
                self._make(parent, new, wanted, cgroups, private_mounts)
                os.rename(new, self._uid, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                files_beneath.remove_tree(parent, new)
                raise
        finally:
            os.close(parent)

    def _make(
        self, parent: int, new: str, wanted: Open, cgroups: Cgroups | None, private_mounts: bool
    ) -> None:
        group = pod_group(parent, self._uid) if os.geteuid() == 0 and not private_mounts else None
        place = files_beneath.make_directories(parent, new, _OWN)
        try:
            if group is not None:
                os.fchown(place, -1, group)
                os.fchmod(place, _GROUP_THROUGH)
            for name, mode in (("volumes", _THROUGH), ("roots", _THROUGH), ("logs", _OWN)):
                os.close(files_beneath.make_directories(place, name, mode))
            _fill_all(place, wanted.volumes, wanted.fs_group)
            version, bases = (cgroups.version, cgroups.bases) if cgroups is not None else (0, {})
            identity = PodIdentity(
                uid=wanted.uid,
                namespace=wanted.namespace,
                name=wanted.name,
                address=wanted.address,
                cgroup_version=version,
                cgroup_bases=bases,
                group=group,
                fs_group=wanted.fs_group,
                private_mounts=private_mounts,
            )
            files_beneath.write_new(place, "pod.json", msgspec.json.encode(identity))
        finally:
            os.close(place)

    def refresh(self, volumes: Iterable[Volume]) -> None:
        fs_group = self.identity().fs_group
        place = self.open()
        try:
            _fill_all(place, volumes, fs_group)
        finally:
            os.close(place)

    def log_directory(self, container: str) -> str:
        """In the pod's directory."""
        return "logs/" + _safe(container, "a container's name")

    def root(self, run: ContainerRun) -> Path:
        """The container's own root, with its mounts in place."""
        name = _safe(run.name, "a container's name")
        place = self.open()
        root = -1
        try:
            root = files_beneath.make_directories(place, f"roots/{name}", _OWN)
            _give(root, run)
            _make_temporary(root, run)
            _Mounting(self.path, place, root, run, self.identity().private_mounts).all()
        finally:
            os.close(place)
            if root >= 0:
                os.close(root)
        return self.path / "roots" / name

    def remove(self) -> None:
        """At once for whoever looks; then in fact."""
        gone = f"{_GONE}{self._uid}"
        parent = os.open(self._parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            try:
                os.stat(self._uid, dir_fd=parent, follow_symlinks=False)
            except FileNotFoundError:
                pass  # it went before
            else:
                files_beneath.remove_tree(parent, gone)
                os.rename(self._uid, gone, src_dir_fd=parent, dst_dir_fd=parent)
            files_beneath.remove_tree(parent, gone)
        finally:
            os.close(parent)


class _Mounting:
    """The mounts of one container as links in its root, what others lie in first. They lead to the volumes or, where it
    has mounts of its own (`private_mounts.py`), to those."""

    def __init__(self, path: Path, place: int, root: int, run: ContainerRun, private: bool) -> None:
        self._path, self._place, self._root, self._run = path, place, root, run
        self._private = private
        self._done: dict[str, Mount] = {}  # by mountPath

    def all(self) -> None:
        for mount in sorted(
            self._run.mounts, key=lambda each: path_inside(each.path, "mountPath").count("/")
        ):
            self._one(mount)

    def _one(self, mount: Mount) -> None:
        inner = path_inside(mount.path, "mountPath")
        if not inner:
            raise ValueError(f"volumeMounts of container {self._run.name}: mountPath must not be /")
        os.close(self._source(mount))
        outer = max((each for each in self._done if inner.startswith(f"{each}/")), key=len, default="")
        self._done[inner] = mount
        if self._private and outer:
            return  # it is found in the one that it lies in
        sub_path = path_inside(mount.sub_path, "subPath")
        volume = "/".join(filter(None, (str(self._path), "volumes", mount.volume, sub_path)))
        target = f"/{inner}" if self._private else volume
        base = self._source(self._done[outer], files_beneath.DIRECTORY) if outer else os.dup(self._root)
        directory, _, name = inner.removeprefix(f"{outer}/" if outer else "").rpartition("/")
        try:
            holder = files_beneath.make_directories(base, directory)
        except OSError as error:
            raise ValueError(
                f"volumeMounts of container {self._run.name}: mountPath {mount.path} leads through something that is "
                f"not a directory ({error.strerror}); no link is followed there: let the container remove it"
            ) from None
        finally:
            os.close(base)
        try:
            _place_link(holder, name, target)
        finally:
            os.close(holder)

    def _source(self, mount: Mount, flags: int = os.O_PATH) -> int:
        """What is mounted, made first where it is a subPath of a directory to write to."""
        name = _safe(mount.volume, "a volume's name")
        sub_path = path_inside(mount.sub_path, "subPath")
        try:
            volume = open_volume(self._place, name, "")
        except FileNotFoundError:
            raise ValueError(
                f"volumeMounts of container {self._run.name}: there is no volume {mount.volume!r}"
            ) from None
        try:
            try:
                return open_volume(self._place, name, sub_path, flags)
            except FileNotFoundError:
                if files_beneath.link_at(volume, CURRENT) is not None:
                    raise
                return files_beneath.make_directories(volume, sub_path, _ANYBODY)
        except OSError as error:
            raise ValueError(
                f"volumeMounts of container {self._run.name}: subPath {mount.sub_path} of volume {name}: "
                f"{error.strerror}; no link is followed there"
            ) from None
        finally:
            os.close(volume)


def pod_group(parent: int, uid: str) -> int:
    """A group that no other pod of this node has."""
    with os.scandir(parent) as entries:
        taken = {entry.stat(follow_symlinks=False).st_gid for entry in entries}
    number = zlib.crc32(uid.encode()) % _GROUPS
    while _GROUPS_FROM + number in taken:
        number = (number + 1) % _GROUPS
    return _GROUPS_FROM + number


def tidy(parent: Path) -> tuple[list[str], list[str]]:
    """Remove what a kill left half made or half removed. Returns the uids that are whole, and those that a cut of the
    power has damaged: they are good for nothing but removal, once nothing of them runs."""
    whole, damaged = [], []
    for entry in sorted(os.scandir(parent), key=lambda each: each.name):
        if entry.name.startswith((_NEW, _GONE)):
            remove_directory(parent, entry.name)
        elif entry.is_dir(follow_symlinks=False):
            try:
                PodDirectory(parent, entry.name).identity()
            except (OSError, ValueError):
                damaged.append(entry.name)
            else:
                whole.append(entry.name)
    return whole, damaged


def remove_directory(parent: Path, name: str) -> None:
    """As far as it goes: whatever is left is tried again at the next start."""
    base = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        files_beneath.remove_tree(base, name)
    except OSError:
        pass  # a disk that is ill
    finally:
        os.close(base)


def _safe(name: str, what: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{what} {name!r} cannot be the name of a directory")
    return name


def _fill_all(place: int, volumes: Iterable[Volume], fs_group: int | None) -> None:
    holder = files_beneath.open_beneath(place, "volumes", files_beneath.DIRECTORY)
    try:
        for volume in volumes:
            fill(holder, _safe(volume.name, "a volume's name"), volume, fs_group)
    finally:
        os.close(holder)


def _give(directory: int, run: ContainerRun) -> None:
    if os.geteuid() == 0 and (run.user is not None or run.group is not None):
        os.fchown(directory, -1 if run.user is None else run.user, -1 if run.group is None else run.group)


def _make_temporary(root: int, run: ContainerRun) -> None:
    """Where the container put something else in its place, a link for example, that stays and is nobody's but its."""
    try:
        os.mkdir(_TEMPORARY, _OWN, dir_fd=root)
    except FileExistsError:
        pass  # an earlier run's, or what that made of it
    try:
        temporary = files_beneath.open_beneath(root, _TEMPORARY, files_beneath.DIRECTORY)
    except OSError:
        return
    try:
        _give(temporary, run)
    finally:
        os.close(temporary)


def _place_link(holder: int, name: str, target: str) -> None:
    there = files_beneath.link_at(holder, name)
    if there == target:
        return
    if there is not None:
        os.unlink(name, dir_fd=holder)
    else:
        try:
            os.rmdir(
                name, dir_fd=holder
            )  # what a mount point hides must be empty: it could hold an earlier run's work
        except FileNotFoundError:
            pass  # nothing was there
    os.symlink(target, name, dir_fd=holder)

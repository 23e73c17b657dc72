"""A container's own view of the machine's files: its volumes at their mountPaths, the agent's data hidden.

    host /            the container's /
    ├── etc           ├── etc            the machine's own, live
    ├── tmp           ├── tmp            the machine's own; the agent's directory in it is empty but for this root
    └── usr           ├── usr
                      └── data           a volume, nosuid and nodev: / is a small tmpfs, all else is bound in it

Nothing is made on the machine for it. A mount point that exists is mounted over; where one is missing, the directory
that it would lie in is covered by a tmpfs into which its entries are bound one by one (`_cover`), at the root by
pivot_root.

`enter` is called by `launching.py` in the child that becomes the container, `join` in those that become its probes and
hooks, both before the user is switched. Volumes are opened beneath the pod's directory, without links
(`files_beneath.py`). A user who is not root makes a user namespace first, with nobody but itself in it. Standard
library only, and nothing is imported once the files may be the pod's.
"""

from __future__ import annotations

import os
import stat

from fairlead.agent.drivers import files_beneath, mount_calls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

CURRENT = "..data"
#: bound: processes | entries of a directory that gets a mount point | the mountPath is refused
COVERED_ENTRIES_MAX = 4096
#: bound: processes | what a container adds to such a directory | no space is left
COVER_BYTES_MAX = 16 * 1024 * 1024
_COVER_FILES_MAX = 2 * COVERED_ENTRIES_MAX
_LINKS_MAX = 40
_PATH, _THROUGH = os.O_PATH | os.O_CLOEXEC, files_beneath.THROUGH
_LIVE = ("dev", "proc", "sys")  # stay writable as far as they are when the root is not


class MountError(Exception):
    """In words for the container's status."""


def open_volume(place: int, volume: str, sub_path: str, flags: int = os.O_PATH) -> int:
    """A volume of the pod whose directory is `place`, or what a subPath names in it. OSError; ELOOP for a link."""
    whole = files_beneath.open_beneath(place, f"volumes/{volume}", files_beneath.DIRECTORY)
    if not sub_path:
        return whole
    try:
        current = files_beneath.link_at(
            whole, CURRENT
        )  # a link of the agent's, in a directory that only it writes
        inner = sub_path if current is None or "/" in current else f"{current}/{sub_path}"
        return files_beneath.open_beneath(whole, inner, flags)
    finally:
        os.close(whole)


def enter(root: str, private: Json, user: int | None) -> None:
    """`root`: $FAIRLEAD_ROOT. `private`: hide, mounts and read_only_root, as `pod.py` says. MountError or OSError."""
    mounts = [
        (resolved, volume, sub_path, read_only)
        for resolved, (volume, _, sub_path, read_only) in zip(
            _resolve_all([each[1] for each in private["mounts"]]), private["mounts"], strict=True
        )
    ]
    closed = _closed_above(os.getcwd()) if user not in (None, os.geteuid()) else []
    _unshare()
    view = _View()
    view.hide([*private["hide"], *closed], root)
    paths = [path for path, *_ in mounts]
    for path in sorted(paths, key=len):
        if not _outer(path, paths):
            view.make_room(path)
    for path, volume, sub_path, read_only in sorted(mounts, key=lambda each: len(each[0])):
        view.mount(path, volume, sub_path, bool(read_only), _outer(path, paths))
    view.finish(bool(private["read_only_root"]))


def join(pid: int) -> None:
    """The view of a container's main process. OSError if that is gone."""
    if os.stat(f"/proc/{pid}/ns/mnt").st_ino == os.stat("/proc/self/ns/mnt").st_ino:
        raise MountError("the container has not begun to run")
    kinds = [("mnt", mount_calls.NEW_MOUNTS)]
    if os.stat(f"/proc/{pid}/ns/user").st_ino != os.stat("/proc/self/ns/user").st_ino:
        # Root enters the mounts first, which are not those of the other users; anybody else has no right to before.
        kinds.insert(1 if os.geteuid() == 0 else 0, ("user", mount_calls.NEW_USERS))
    namespaces = [
        (os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC), flag) for name, flag in kinds
    ]
    for namespace, flag in namespaces:
        mount_calls.join(namespace, flag)


def attempt() -> None:
    """Whether this user may do all that on this machine: does it, for the process that calls."""
    _unshare()
    view = _View()
    view.make_room("/.fairlead/data")
    view.finish(True)


def _unshare() -> None:
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        mount_calls.unshare(mount_calls.NEW_MOUNTS)
    else:
        mount_calls.unshare(mount_calls.NEW_USERS | mount_calls.NEW_MOUNTS)
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)


class _View:
    """The namespace that the calling process has to itself."""

    def __init__(self) -> None:
        self._root = os.open("/", _THROUGH)
        mount_calls.set_attributes(self._root, private=True)
        self._place = os.open(".", _THROUGH)  # the pod's directory
        self._own: set[int] = set()  # devices that are ours: in memory, and seen by nobody else
        self._volumes: list[tuple[int, bool]] = []
        self._pivots = False

    def hide(self, paths: list[str], root: str) -> None:
        """All of these but the container's own root."""
        inner = "/".join(root.split("/")[-2:])  # of the pod's directory
        where = f"{os.getcwd()}/{inner}".strip("/")
        own = mount_calls.clone(files_beneath.open_beneath(self._place, inner, _THROUGH))
        mount_calls.set_attributes(own, give=mount_calls.NO_SUID | mount_calls.NO_DEVICES)
        hiding = []
        for path in sorted(paths, key=len):
            try:
                point = files_beneath.open_beneath(self._root, path.strip("/"), _PATH)
            except OSError:
                continue  # it is not there
            if not stat.S_ISDIR(os.fstat(point).st_mode):
                mount_calls.move(mount_calls.clone(self._root, "dev/null"), point)
                continue
            hiding.append(mount_calls.new_tmpfs(COVER_BYTES_MAX, _COVER_FILES_MAX))
            mount_calls.move(hiding[-1], point)
        point = files_beneath.make_directories(self._root, where, flags=_THROUGH)
        for cover in hiding:
            mount_calls.set_attributes(cover, give=mount_calls.READ_ONLY)
        mount_calls.move(own, point)

    def make_room(self, path: str) -> None:
        """See that what the path lies in is there, without making anything on the machine."""
        parts = path.strip("/").split("/")
        for count, part in enumerate(parts):
            here = "/" + "/".join(parts[:count])
            directory = self._open(here, _THROUGH)
            try:
                if stat.S_ISLNK(os.stat(part, dir_fd=directory, follow_symlinks=False).st_mode):
                    raise MountError(f"{here}/{part} is a link")
            except FileNotFoundError:
                if os.fstat(directory).st_dev not in self._own:
                    self._cover(here)
                return
            finally:
                os.close(directory)

    def mount(self, path: str, volume: str, sub_path: str, read_only: bool, outer: str) -> None:
        try:
            source = open_volume(self._place, volume, sub_path)
        except OSError as error:
            raise MountError(
                f"subPath {sub_path!r} of volume {volume}: {error.strerror}; no link is followed there"
            ) from None
        is_directory = stat.S_ISDIR(os.fstat(source).st_mode)
        mount = mount_calls.clone(source)
        os.close(source)
        mount_calls.set_attributes(mount, give=mount_calls.NO_SUID | mount_calls.NO_DEVICES)
        directory, _, name = path.strip("/").rpartition("/")
        try:
            holder = files_beneath.make_directories(self._root, directory, flags=_THROUGH)
            if not files_beneath.is_there(holder, name):
                if is_directory:
                    os.mkdir(name, 0o755, dir_fd=holder)
                else:
                    os.close(files_beneath.create(holder, name, 0o644))
            point = files_beneath.open_beneath(holder, name, _PATH)
            os.close(holder)
            mount_calls.move(mount, point)
            os.close(point)
        except OSError as error:
            within = f" in the volume at {outer}" if outer else ""
            raise MountError(
                f"mountPath {path}{within}: {error.strerror}; no link is followed there"
            ) from None
        self._volumes.append((mount, read_only))

    def finish(self, read_only_root: bool) -> None:
        """Nothing is mounted after this."""
        if read_only_root:
            mount_calls.set_attributes(self._root, give=mount_calls.READ_ONLY)
            for name in _LIVE:
                try:
                    mount_calls.set_attributes(
                        files_beneath.open_beneath(self._root, name, _PATH), take=mount_calls.READ_ONLY
                    )
                except OSError:
                    pass  # not a mount of its own, or read-only on the machine as well
        for (
            mount,
            read_only,
        ) in self._volumes:  # those that others lie in first: what they are told holds for all in them
            if read_only:
                mount_calls.set_attributes(mount, give=mount_calls.READ_ONLY)
            else:
                mount_calls.set_attributes(mount, take=mount_calls.READ_ONLY)
        if self._pivots:
            mount_calls.become_root(self._root)

    def _open(self, path: str, flags: int) -> int:
        return files_beneath.open_beneath(self._root, path.strip("/") or ".", flags)

    def _cover(self, path: str) -> None:
        """Put a tmpfs over a directory of the machine, with all that is in it."""
        under = self._open(path, files_beneath.DIRECTORY)
        status = os.fstat(under)
        names = os.listdir(under)
        if len(names) > COVERED_ENTRIES_MAX:
            raise MountError(
                f"{path} has {len(names)} entries, more than {COVERED_ENTRIES_MAX}: choose a mountPath in another "
                "directory, or make it on the node"
            )
        cover = mount_calls.new_tmpfs(COVER_BYTES_MAX, _COVER_FILES_MAX)
        top = os.open(".", files_beneath.DIRECTORY, dir_fd=cover)
        if os.geteuid() == 0:
            os.fchown(top, status.st_uid, status.st_gid)
        os.fchmod(top, stat.S_IMODE(status.st_mode))
        os.close(top)
        point = self._open(path, _PATH)
        mount_calls.move(cover, point)
        os.close(point)
        for name in names:
            _bind(under, cover, name)
        os.close(under)
        if path == "/":
            self._root, self._pivots = cover, True
        self._own.add(os.fstat(cover).st_dev)


def _bind(under: int, cover: int, name: str) -> None:
    """The same entry, live. One that went meanwhile, or cannot be bound, is left out."""
    try:
        mode = os.stat(name, dir_fd=under, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(name, dir_fd=under), name, dir_fd=cover)
            return
        mount = mount_calls.clone(under, name)
    except OSError:
        return
    if stat.S_ISDIR(mode):
        os.mkdir(name, 0o755, dir_fd=cover)
    else:
        os.close(files_beneath.create(cover, name, 0o644))
    point = files_beneath.open_beneath(cover, name, _PATH)
    mount_calls.move(mount, point)
    os.close(point)
    os.close(mount)


def _closed_above(path: str) -> list[str]:
    """Directories that another user may not pass: it would see nothing in them anyway, and its own root lies there."""
    parts = path.strip("/").split("/")
    above = ["/" + "/".join(parts[:count]) for count in range(1, len(parts))]
    return [each for each in above if not os.stat(each).st_mode & stat.S_IXOTH]


def _resolve_all(paths: list[str]) -> list[str]:
    """Where mountPaths really are, through links of the machine's own such as /var/run. Those in other mountPaths are
    taken as they are written: their links would be the pod's."""
    plain = ["/" + "/".join(part for part in path.split("/") if part not in ("", ".")) for path in paths]
    found: dict[str, str] = {}
    for path in sorted(plain, key=len):
        outer = _outer(path, plain)
        found[path] = found[outer] + path[len(outer) :] if outer else _resolve(path)
    return [found[path] for path in plain]


def _resolve(path: str) -> str:
    done, waiting = "", path.strip("/").split("/")
    for _ in range(_LINKS_MAX * 16):
        if not waiting:
            return done
        part = waiting.pop(0)
        try:
            status = os.lstat(f"{done}/{part}")
        except OSError:
            return "/".join((done, part, *waiting))
        if not stat.S_ISLNK(status.st_mode):
            done = f"{done}/{part}"
            continue
        holder = os.lstat(done or "/")
        if status.st_uid != 0 or holder.st_uid != 0 or holder.st_mode & 0o022:
            raise MountError(
                f"mountPath {path} leads through the link {done}/{part}, which a pod could have made: "
                "name the place itself"
            )
        target = os.readlink(f"{done}/{part}")
        if target.startswith("/"):
            done = ""
        parts = [each for each in target.split("/") if each not in ("", ".")]
        while parts and parts[0] == "..":
            parts.pop(0)
            done = done.rpartition("/")[0]
        waiting = parts + waiting
    raise MountError(f"mountPath {path} leads through too many links")


def _outer(path: str, paths: list[str]) -> str:
    """The nearest of these that the path lies in."""
    return max((each for each in paths if path.startswith(f"{each}/")), key=len, default="")

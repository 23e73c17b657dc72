"""The files of one volume: new content appears all at once, by a swapped link, as in Kubernetes.

    volumes/NAME/..3/a          what is there now
    volumes/NAME/..data -> ..3
    volumes/NAME/a -> ..data/a

Called by `directories.py` with a descriptor of `volumes`; nothing here follows a link (`files_beneath.py`). The pod's
own directory is closed to others, so modes are those that its containers need to share: an emptyDir is open to all of
them. With an fsGroup it and all files belong to that group, which may read them.
"""

from __future__ import annotations

import os
import re
import stat

from fairlead.agent.contract import Volume
from fairlead.agent.drivers import files_beneath
from fairlead.agent.drivers.private_mounts import CURRENT

_SWAP = "..swap"
_VERSION = re.compile(r"\.\.([1-9][0-9]*)")
_LOOK, _SHARED = 0o755, 0o777

Content = dict[str, tuple[bytes, int]]


def path_inside(path: str, what: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ValueError(f"{what} {path!r} must not contain '..'")
    return "/".join(parts)


def fill(volumes: int, name: str, volume: Volume, fs_group: int | None) -> None:
    if volume.files is None:
        _make_empty(volumes, name, fs_group)
        return
    mode_also = 0o440 if fs_group is not None else 0
    wanted = {
        path_inside(path, f"volume {volume.name}"): (content, mode & 0o777 | mode_also)
        for path, content, mode in volume.files
    }
    directory = files_beneath.make_directories(volumes, name, _LOOK)
    try:
        _swap(directory, wanted, fs_group)
    finally:
        os.close(directory)


def _make_empty(volumes: int, name: str, fs_group: int | None) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=volumes)
    except FileExistsError:
        return  # with what the pod has put there
    directory = files_beneath.open_beneath(volumes, name, files_beneath.DIRECTORY)
    try:
        if fs_group is not None:
            os.fchown(directory, -1, fs_group)
        os.fchmod(directory, _SHARED if fs_group is None else stat.S_ISGID | _SHARED)
    finally:
        os.close(directory)


def _swap(directory: int, wanted: Content, fs_group: int | None) -> None:
    old = files_beneath.link_at(directory, CURRENT)
    number = _VERSION.fullmatch(old or "")
    if old is not None and number is not None and _content(directory, old) == wanted:
        return
    new = f"..{1 if number is None else int(number[1]) + 1}"
    files_beneath.remove_tree(directory, new)
    try:
        _write(directory, new, wanted, fs_group)
        files_beneath.remove_tree(directory, _SWAP)
        os.symlink(new, _SWAP, dir_fd=directory)
    except BaseException:
        files_beneath.remove_tree(directory, new)
        raise
    os.replace(_SWAP, CURRENT, src_dir_fd=directory, dst_dir_fd=directory)
    tops = {path.partition("/")[0] for path in wanted}
    for top in tops:
        if files_beneath.link_at(directory, top) is None:
            os.symlink(f"{CURRENT}/{top}", top, dir_fd=directory)
    for name in os.listdir(directory):
        target = files_beneath.link_at(directory, name)
        ours = target is not None and target.startswith(f"{CURRENT}/")  # not a mount inside this one
        if ours and name not in tops:
            os.unlink(name, dir_fd=directory)
    if old is not None and number is not None:
        files_beneath.remove_tree(directory, old)


def _write(directory: int, new: str, wanted: Content, fs_group: int | None) -> None:
    os.close(files_beneath.make_directories(directory, new, _LOOK))
    for path, (content, mode) in wanted.items():
        holder_path, _, name = f"{new}/{path}".rpartition("/")
        holder = files_beneath.make_directories(directory, holder_path, _LOOK)
        try:
            files_beneath.write_new(holder, name, content, mode)
            if fs_group is not None:
                os.chown(name, -1, fs_group, dir_fd=holder, follow_symlinks=False)
        finally:
            os.close(holder)


def _content(directory: int, current: str) -> Content:
    """What is there; nothing where it is not as it was left."""
    found: Content = {}
    try:
        top = files_beneath.open_beneath(directory, current, files_beneath.DIRECTORY)
    except OSError:
        return found
    try:
        for place, _, names, holder in os.fwalk(".", dir_fd=top, follow_symlinks=False):
            for name in names:
                mode = os.stat(name, dir_fd=holder, follow_symlinks=False).st_mode
                path = f"{place}/{name}".removeprefix("./")
                found[path] = (files_beneath.read_file(holder, name), mode & 0o777)
    except OSError:
        return {}
    finally:
        os.close(top)
    return found

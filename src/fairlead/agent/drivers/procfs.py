"""Finding processes in /proc: those below a supervisor, and those that carry a pod's name in their environment.

Every process of a pod is started with FAIRLEAD_POD_UID, so what outlives its supervisor can still be told from the
rest of the machine. Used by the supervisor (`belonging.py`) and by the driver after a supervisor's end (`pod.py`).
Standard library only.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

POD_TAG, CONTAINER_TAG, ATTEMPT_TAG = "FAIRLEAD_POD_UID", "FAIRLEAD_CONTAINER", "FAIRLEAD_ATTEMPT"
ROOT_TAG = "FAIRLEAD_ROOT"
_AGAIN_SECONDS = 0.02
_KILL_SECONDS = 5.0


def read(path: str) -> bytes:
    """Nothing for a process that is gone, or somebody else's."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(1 << 22) or b""
    except OSError:
        return b""


def processes() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def environment_value(pid: int, name: str) -> str:
    """A variable of a process as it was started; "" if it has none, or is not ours to read."""
    wanted = f"{name}=".encode()
    for entry in read(f"/proc/{pid}/environ").split(b"\0"):
        if entry.startswith(wanted):
            return entry[len(wanted) :].decode("utf-8", "replace")
    return ""


def session(pid: int) -> int:
    """The session of a process, 0 if it is gone."""
    fields = stat(pid)
    return int(fields[3]) if len(fields) > 3 else 0


def stat(pid: int) -> list[bytes]:
    """state, parent, group, session, ... : what follows the name, which may contain anything."""
    return read(f"/proc/{pid}/stat").rpartition(b") ")[2].split()


def find_tagged() -> dict[str, set[int]]:
    """Processes that live, by the uid of the pod in their environment."""
    found: dict[str, set[int]] = {}
    wanted = f"{POD_TAG}=".encode()
    for pid in processes():
        if wanted not in read(f"/proc/{pid}/environ"):
            continue
        uid = environment_value(pid, POD_TAG)
        if uid:
            found.setdefault(uid, set()).add(pid)
    return found


def works_in(pid: int, directory: str) -> bool:
    """Whether it is the supervisor of a pod with this directory, or one of its processes."""
    if directory.encode() in read(f"/proc/{pid}/cmdline").split(b"\0"):
        return True
    return environment_value(pid, ROOT_TAG).startswith(f"{directory}/")


def descendants(ancestor: int) -> dict[int, int]:
    """Every process below `ancestor`, with the child of `ancestor` it descends from. Zombies are not processes."""
    found: dict[int, int] = {}
    kin: Callable[[int], Iterable[int]]
    if os.path.exists(f"/proc/{ancestor}/task/{ancestor}/children"):
        kin = _kin_by_children
    else:  # a kernel without PROC_CHILDREN: everybody's parent has to be read
        kin = _kin_by_parents()
    waiting = [(child, child) for child in kin(ancestor)]
    while waiting:
        pid, branch = waiting.pop()
        if pid in found:
            continue
        found[pid] = branch
        waiting += [(child, branch) for child in kin(pid)]
    return {pid: branch for pid, branch in found.items() if stat(pid)[:1] not in ([], [b"Z"], [b"X"])}


def _kin_by_children(pid: int) -> Iterable[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return ()
    return [int(child) for task in tasks for child in read(f"/proc/{pid}/task/{task}/children").split()]


def _kin_by_parents() -> Callable[[int], Iterable[int]]:
    children: dict[int, list[int]] = {}
    for pid in processes():
        fields = stat(pid)
        if len(fields) > 1:
            children.setdefault(int(fields[1]), []).append(pid)
    return lambda pid: children.get(pid, ())


def kill(pids: Iterable[int], signal_number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal_number)
        except ProcessLookupError:
            pass  # it went by itself
        except PermissionError:
            pass  # it changed its user: whoever counts what is left will see it


def end_strays(uids: Iterable[str], others: Callable[[str], Iterable[int]]) -> dict[str, set[int]]:
    """Kill all that is left of these pods; `others` names further processes of one. Blocks for a moment. Returns those
    that could not be killed."""
    wanted = set(uids)
    own = os.getpid()
    clear = 0
    until = time.monotonic() + _KILL_SECONDS
    while True:
        present = find_tagged()
        left = {uid: (present.get(uid, set()) | set(others(uid))) - {own} for uid in wanted}
        left = {uid: pids for uid, pids in left.items() if pids}
        # A process that is just becoming another shows no environment for an instant: look twice.
        clear = 0 if left else clear + 1
        if clear == 2 or time.monotonic() > until:
            return left
        for pids in left.values():
            kill(pids, 9)
        time.sleep(_AGAIN_SECONDS)

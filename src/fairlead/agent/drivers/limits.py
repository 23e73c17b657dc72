"""Limits of CPU, memory and processes: by cgroups where this user may make them, else by rlimits, and it says which.

`find` is asked once by the driver. Cgroups are made per container, `.../fairlead/UID/CONTAINER`, by the supervisor
just before a start, and removed by the driver when the pod is closed. They also tell an out-of-memory kill from others,
and name processes that hid their environment. Standard library only.

| | memory | CPU | processes |
| --- | --- | --- | --- |
| cgroup v2 | memory.max, no swap | cpu.max | pids.max |
| cgroup v1 | memory.limit_in_bytes | cpu.cfs_quota_us | pids.max |
| rlimits | RLIMIT_DATA, of each process for itself | none | none: RLIMIT_NPROC counts all that a user has anywhere |
"""

from __future__ import annotations

import os
import resource

PERIOD_MICROSECONDS = 100_000
_QUOTA_LEAST = 1_000  # the kernel refuses less
CONTROLLERS = ("memory", "cpu", "pids")
#: bound: processes | processes of one container, where cgroups allow | fork fails
PIDS_MAX = (
    2048  # processes and threads of one container: far more than a service has, far less than a machine
)
_OURS = "fairlead"


class Cgroups:
    __slots__ = ("bases", "version")

    def __init__(self, version: int, bases: dict[str, str]) -> None:
        self.version = version
        self.bases = bases  # controller to directory; v2 has one directory for both, named "unified"


def find(mounts: str = "/proc/self/mounts", membership: str = "/proc/self/cgroup") -> Cgroups | None:
    """Where this process may make cgroups that limit memory and CPU; None where it may not."""
    unified, v1 = _hierarchies(mounts)
    own = _own_groups(membership)
    bases: dict[str, str] = {}
    for controller in CONTROLLERS:
        if controller in v1:
            base = _usable(v1[controller] + own.get(controller, "/").rstrip("/"))
            if base:
                bases[controller] = base
    if bases:
        return Cgroups(1, bases)
    if unified:
        here = unified + own.get("", "/").rstrip("/")
        # A group with processes in it cannot have limited children, but for the root: then its parent may.
        for candidate in (here, os.path.dirname(here)):
            base = _usable_v2(candidate) if candidate.startswith(unified) else ""
            if base:
                return Cgroups(2, {"unified": base})
    return None


def _hierarchies(mounts: str) -> tuple[str, dict[str, str]]:
    unified, v1 = "", {}
    for line in _lines(mounts):
        fields = line.split(" ")
        if len(fields) < 4:
            continue
        if fields[2] == "cgroup2":
            unified = unified or fields[1]
        elif fields[2] == "cgroup":
            for option in fields[3].split(","):
                if option in CONTROLLERS:
                    v1[option] = fields[1]
    return unified, v1


def _own_groups(membership: str) -> dict[str, str]:
    own: dict[str, str] = {}
    for line in _lines(membership):
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    return own


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _usable(group: str) -> str:
    base = f"{group}/{_OURS}"
    try:
        os.makedirs(base, exist_ok=True)
        return base if os.access(base, os.W_OK) and os.access(f"{base}/cgroup.procs", os.W_OK) else ""
    except OSError:
        return ""


def _usable_v2(group: str) -> str:
    base = _usable(group)
    try:
        for directory in (group, base) if base else ():
            _delegate(directory)
    except OSError:
        remove({"unified": base})
        return ""
    return base


def _delegate(directory: str) -> None:
    """Let the groups in it have limits (v2)."""
    _write(f"{directory}/cgroup.subtree_control", "+memory +cpu")
    try:
        _write(f"{directory}/cgroup.subtree_control", "+pids")
    except OSError:
        pass  # not every machine hands it down


def limits_pids(cgroups: Cgroups | None) -> bool:
    """Whether the number of a container's processes is limited."""
    if cgroups is None:
        return False
    unified = cgroups.bases.get("unified")
    return "pids" in cgroups.bases or (
        unified is not None and "pids" in " ".join(_lines(f"{unified}/cgroup.subtree_control")).split()
    )


def describe(cgroups: Cgroups | None) -> str:
    """For people: what enforces limits on this node."""
    if cgroups is None:
        return "rlimits: memory of each process for itself, CPU is not limited"
    if cgroups.version == 2:
        pids = " and number of processes" if limits_pids(cgroups) else ""
        return f"cgroup v2: memory and CPU{pids} of each container"
    missing = "".join(f"; {each} is not limited" for each in ("memory", "cpu") if each not in cgroups.bases)
    return f"cgroup v1: {' and '.join(cgroups.bases)} of each container{missing}"


def directories(cgroups: Cgroups | None, uid: str, container: str) -> dict[str, str]:
    return {name: f"{base}/{uid}/{container}" for name, base in cgroups.bases.items()} if cgroups else {}


def make(groups: dict[str, str], cpu_millis: int, memory_bytes: int, pids_max: int) -> None:
    """Make a container's groups and set their limits anew; 0 is none. OSError if the kernel refuses."""
    quota = max(cpu_millis * PERIOD_MICROSECONDS // 1000, _QUOTA_LEAST) if cpu_millis else 0
    for controller, path in groups.items():
        if controller == "unified":
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _delegate(os.path.dirname(path))
        os.makedirs(path, exist_ok=True)
        if controller == "unified":
            _write(f"{path}/memory.max", str(memory_bytes or "max"))
            _write(f"{path}/cpu.max", f"{quota or 'max'} {PERIOD_MICROSECONDS}")
            if os.path.exists(f"{path}/memory.swap.max"):
                _write(f"{path}/memory.swap.max", "0" if memory_bytes else "max")
            if os.path.exists(f"{path}/pids.max"):
                _write(f"{path}/pids.max", str(pids_max or "max"))
        elif controller == "pids":
            _write(f"{path}/pids.max", str(pids_max or "max"))
        elif controller == "memory":
            _write(f"{path}/memory.limit_in_bytes", str(memory_bytes or -1))
        else:
            _write(f"{path}/cpu.cfs_period_us", str(PERIOD_MICROSECONDS))
            _write(f"{path}/cpu.cfs_quota_us", str(quota or -1))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def enter(groups: dict[str, str]) -> None:
    """Move the calling process into them."""
    for path in groups.values():
        _write(f"{path}/cgroup.procs", "0")


def limit_data(memory_bytes: int) -> None:
    """For the calling process and those it starts, where there are no cgroups."""
    if memory_bytes:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        wanted = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, wanted))


def members(groups: dict[str, str]) -> set[int]:
    """Processes in these groups, zombies not."""
    return {
        int(line)
        for path in groups.values()
        for line in _lines(f"{path}/cgroup.procs")
        if line.isdigit() and line != "0"
    }


def members_of_pod(cgroups: Cgroups | None, uid: str) -> set[int]:
    found: set[int] = set()
    for base in cgroups.bases.values() if cgroups else ():
        try:
            names = [entry.name for entry in os.scandir(f"{base}/{uid}") if entry.is_dir()]
        except OSError:
            continue
        for name in names:
            found |= members({"": f"{base}/{uid}/{name}"})
    return found


def oom_kills(groups: dict[str, str]) -> int:
    """How often the kernel killed something in there for want of memory."""
    for controller, file in (("unified", "memory.events"), ("memory", "memory.oom_control")):
        for line in _lines(f"{groups[controller]}/{file}") if controller in groups else ():
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return 0


def remove(groups: dict[str, str]) -> None:
    """Groups that are empty; others stay."""
    for path in groups.values():
        try:
            os.rmdir(path)
        except OSError:
            pass  # gone already, or still in use: an empty group costs nothing


def remove_pod(cgroups: Cgroups | None, uid: str) -> None:
    for base in cgroups.bases.values() if cgroups else ():
        try:
            names = [entry.name for entry in os.scandir(f"{base}/{uid}") if entry.is_dir()]
        except OSError:
            continue
        remove({name: f"{base}/{uid}/{name}" for name in names})
        remove({"": f"{base}/{uid}"})

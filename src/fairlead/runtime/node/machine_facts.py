"""What an agent finds out about its machine: how much of everything there is, and what it is.

Asked by `process.py` at the start, for the disk ever again. Nothing here changes anything.
"""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path

from fairlead import __version__
from fairlead.agent.contract import Disk

_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
_MEMORY_MAX = Path("/sys/fs/cgroup/memory.max")
_MEMORY = Path("/proc/meminfo")
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_MACHINE = Path("/etc/machine-id")
_RELEASE = Path("/etc/os-release")
_NAME = re.compile(r'^PRETTY_NAME="?([^"\n]*)', re.MULTILINE)


def instance(directory: Path) -> str:
    """Tells agents of one name apart: the same for every start on this machine and directory, and for no other."""
    told = "\n".join((_text(_MACHINE).strip(), os.uname().nodename, str(directory.resolve())))
    return blake2b(told.encode(), digest_size=8).hexdigest()


def cpus() -> str:
    """As a quantity, such as 2 or 1500m: what the machine has, or what it may use of it."""
    whole = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _text(_CPU_MAX).partition(" ")
    if quota.isdigit() and period.isdigit() and int(period):
        allowed = int(quota) * 1000 // int(period)
        if 0 < allowed < whole * 1000:
            return f"{allowed}m"
    return str(whole)


def memory() -> str:
    found = re.search(r"^MemTotal:\s+(\d+) kB", _text(_MEMORY), re.MULTILINE)
    kibibytes = int(found[1]) if found else 1024 * 1024
    allowed = _text(_MEMORY_MAX)
    if allowed.isdigit():
        kibibytes = min(kibibytes, int(allowed) // 1024)
    return f"{kibibytes}Ki"


def disk(directory: Path, now: float) -> Disk | None:
    """The one under this directory; None if it does not tell."""
    try:
        told = os.statvfs(directory)
    except OSError:
        return None
    size = told.f_frsize
    return Disk(
        where=str(directory),
        free_bytes=told.f_bavail * size,
        bytes=told.f_blocks * size,
        free_files=told.f_favail,
        files=told.f_files,
        now=now,
    )


def node_info() -> dict[str, str]:
    """status.nodeInfo. What a driver of processes has no answer to says so."""
    release = _NAME.search(_text(_RELEASE))
    system = os.uname()
    return {
        "machineID": _text(_MACHINE),
        "systemUUID": _text(_MACHINE),
        "bootID": _text(_BOOT),
        "kernelVersion": system.release,
        "osImage": release[1] if release else system.sysname,
        "containerRuntimeVersion": f"process://{__version__}",
        "kubeletVersion": f"v{__version__}+fairlead",
        "kubeProxyVersion": "",
        "operatingSystem": system.sysname.lower(),
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}.get(system.machine, system.machine),
    }


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""

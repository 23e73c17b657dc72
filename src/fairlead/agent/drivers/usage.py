"""How much CPU and memory the containers of this machine have used: totals, read from cgroups or from /proc.

`sample` is called by `process.py`, off the loop; `agent/usage.py` makes rates of two samples.

| | CPU | memory |
| --- | --- | --- |
| cgroup v2 | cpu.stat | memory.current without inactive files, as Kubernetes counts it |
| cgroup v1 | cpuacct.usage, where it is beside cpu | memory.usage_in_bytes, the same |
| otherwise | times of the processes and of children they waited for | their resident memory |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from fairlead.agent.contract import Sandbox
from fairlead.agent.drivers import limits, procfs
from fairlead.agent.usage import PodSample, Reading, Sample

_TICK_NANOS = 10**9 // os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
# Places in /proc/PID/stat after the name.
_UTIME, _STIME, _CUTIME, _CSTIME, _RSS = 11, 12, 13, 14, 21


def sample(
    running: Iterable[tuple[Sandbox, int]], cgroups: limits.Cgroups | None, clock: Callable[[], float]
) -> Sample:
    """`running`: what runs, with the pids of the supervisors."""
    pods: dict[str, PodSample] = {}
    others = {os.getpid(): _of_processes([os.getpid()], children=False)}
    for sandbox, supervisor in running:
        others[supervisor] = _of_processes([supervisor], children=False)
        pods[sandbox.uid] = PodSample(clock(), _containers(sandbox, supervisor, cgroups))
    return Sample(clock(), pods, others)


def _containers(
    sandbox: Sandbox, supervisor: int, cgroups: limits.Cgroups | None
) -> dict[str, tuple[Reading, float | None]]:
    running = [each for each in sandbox.containers if each.pid and each.ended is None]
    found: dict[str, tuple[Reading, float | None]] = {}
    below: dict[int, int] | None = None
    for container in running:
        groups = limits.directories(cgroups, sandbox.uid, container.name)
        pids = limits.members(groups)
        by_group = container.pid in pids
        if not by_group:  # it could not be put into a group
            groups = {}
            below = procfs.descendants(supervisor) if below is None else below
            pids = {
                pid for pid, branch in below.items() if _belongs(pid, branch, container.pid, container.name)
            }
        totals = _of_processes(pids, children=True)
        cpu, memory = _cpu_of(groups), _memory_of(groups)
        reading = Reading(
            totals.cpu_nanos if cpu is None else cpu, totals.memory_bytes if memory is None else memory
        )
        # A group counts on through all runs of a container: only of the first is its total that since the start.
        known_start = cpu is None or container.attempt == 0
        found[container.name] = (reading, container.started_at if known_start else None)
    return found


def _belongs(pid: int, branch: int, main: int, name: str) -> bool:
    return branch == main or procfs.environment_value(pid, procfs.CONTAINER_TAG) == name


def _of_processes(pids: Iterable[int], *, children: bool) -> Reading:
    ticks = pages = 0
    for pid in pids:
        fields = procfs.stat_fields(pid)
        if len(fields) <= _RSS:
            continue  # gone meanwhile
        ticks += int(fields[_UTIME]) + int(fields[_STIME])
        if children:
            ticks += int(fields[_CUTIME]) + int(fields[_CSTIME])
        pages += int(fields[_RSS])
    return Reading(ticks * _TICK_NANOS, pages * _PAGE_BYTES)


def _cpu_of(groups: dict[str, str]) -> int | None:
    if "unified" in groups:
        microseconds = _field(f"{groups['unified']}/cpu.stat", "usage_usec")
        return None if microseconds is None else microseconds * 1000
    return _number(f"{groups['cpu']}/cpuacct.usage") if "cpu" in groups else None


def _memory_of(groups: dict[str, str]) -> int | None:
    """What could not be freed by forgetting files that nobody has touched for long."""
    for controller, file, inactive in (
        ("unified", "memory.current", "inactive_file"),
        ("memory", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        if controller in groups:
            used = _number(f"{groups[controller]}/{file}")
            idle = _field(f"{groups[controller]}/memory.stat", inactive)
            return None if used is None else max(0, used - (idle or 0))
    return None


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""


def _number(path: str) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _field(path: str, name: str) -> int | None:
    for line in _text(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return None

"""What containers use now: CPU seconds since the start of what runs, and memory, as `kubectl top` shows them.

Asked by the node's endpoint through `process.py`, off the loop. From the container's cgroup where it counts both (v2),
else summed over its processes in /proc: then a process takes its CPU time with it when it ends unseen by its parent, so
that a counter may go back.
"""

from __future__ import annotations

import os

import msgspec

from fairlead.agent.drivers import procfs

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage(msgspec.Struct, frozen=True):
    cpu_seconds: float
    memory_bytes: int


def usage(groups: dict[str, str], pids: set[int]) -> Usage:
    """Of one container, by its cgroups or else its processes."""
    unified = groups.get("unified")
    if unified is not None:
        cpu, memory = _numbers(f"{unified}/cpu.stat"), _numbers(f"{unified}/memory.stat")
        current = procfs.read(f"{unified}/memory.current").strip()
        if current.isdigit() and "usage_usec" in cpu:
            # As the kubelet: pages of files that nobody looked at lately can be had back at any time.
            working_set = max(int(current) - memory.get("inactive_file", 0), 0)
            return Usage(cpu["usage_usec"] / 1e6, working_set)
    fields = [procfs.stat(pid) for pid in pids]
    return Usage(
        sum(sum(map(int, each[11:15])) for each in fields if len(each) > 21) / _TICKS,
        sum(int(each[21]) for each in fields if len(each) > 21) * _PAGE,
    )


def _numbers(path: str) -> dict[str, int]:
    pairs = (line.split() for line in procfs.read(path).decode("ascii", "replace").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}

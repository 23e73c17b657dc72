"""Which process below the supervisor belongs to which container, also when its parent is long gone.

Asked by `supervising.py` before it signals or kills. A process with no other mark counts to the container whose session
it is in, then to the one in its environment; one that hides both is left to the end of the pod, unless the pod has one
container only. Standard library only.
"""

from __future__ import annotations

import os

from fairlead.agent.drivers import limits, procfs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.agent.drivers.containers import SupervisedContainer
    from fairlead.agent.drivers.side_processes import SideProcess

UNKNOWN = ""


def members(containers: dict[str, SupervisedContainer], sides: list[SideProcess]) -> dict[str, set[int]]:
    """Processes that live, by container; those that nobody can tell apart under UNKNOWN."""
    found: dict[str, set[int]] = {}
    owners: dict[int, str] = {}
    for pid, branch in procfs.descendants(os.getpid()).items():
        if branch not in owners:
            owners[branch] = _owner(branch, containers, sides)
        found.setdefault(owners[branch], set()).add(pid)
    for name, container in containers.items():
        if container.running and container.groups:
            found.setdefault(name, set()).update(limits.members(container.groups))
    return found


def below(branch: int) -> set[int]:
    """A child of the supervisor and all that descends from it."""
    return {pid for pid, each in procfs.descendants(os.getpid()).items() if each == branch}


def _owner(branch: int, containers: dict[str, SupervisedContainer], sides: list[SideProcess]) -> str:
    for side in sides:
        if side.pid == branch:
            return str(side.container.record["name"])
    session = procfs.session(branch)
    for name, container in containers.items():
        if branch == container.main or (session and session == container.session):
            return name
    name = procfs.environment_value(branch, procfs.CONTAINER_TAG)
    if name in containers:
        return name
    return next(iter(containers)) if len(containers) == 1 else UNKNOWN

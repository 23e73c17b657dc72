"""What the pods of one driver share: where they are, whom to tell, what limits them, and how instants are told.

Made by `process.py`, used by `pod.py` and `contact.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fairlead.agent.contract import Isolation
from fairlead.agent.drivers import limits, procfs, state
from fairlead.agent.drivers.directories import PodDirectory
from fairlead.agent.drivers.sweeping import Sweeper


class ThisMachine:
    def __init__(
        self,
        parent: Path,
        clock: Callable[[], float],
        tell: Callable[[Any], None],
        isolation: Isolation,
        hidden: Iterable[Path],
    ) -> None:
        """`hidden`: what pods do not see, where they have files of their own."""
        self.parent = parent
        self.isolation = isolation
        self.hidden = [os.path.realpath(path) for path in hidden]
        self.clock = clock
        self.tell = tell
        self.cgroups = limits.find()
        self.boot = state.boot_id()
        self.offset = clock() - state.boottime()  # from boot time to the agent's clock
        self.sweeper = Sweeper(self.strays)

    def boot_instant(self, at: float | None) -> float:
        """None: never."""
        return state.NO_DEADLINE if at is None else at - self.offset

    def cgroups_of(self, uid: str) -> limits.Cgroups | None:
        """Where a pod's are, which an earlier agent may have made elsewhere."""
        try:
            identity = PodDirectory(self.parent, uid).identity()
        except (OSError, ValueError):
            return self.cgroups
        return (
            limits.Cgroups(identity.cgroup_version, identity.cgroup_bases)
            if identity.cgroup_version
            else None
        )

    def strays(self, uids: list[str]) -> dict[str, set[int]]:
        """Kill what is left of these pods. Blocks for a moment. Returns what cannot be killed."""
        return procfs.end_strays(uids, lambda uid: limits.members_of_pod(self.cgroups_of(uid), uid))

    def end_forgotten(self, known: frozenset[str]) -> None:
        """Kill pods of this directory that it no longer knows: somebody removed theirs while no agent looked. If they
        went on they would run beside what is opened in their place. Blocks for a moment."""
        base = str(self.parent.absolute())
        self.strays(
            [
                uid
                for uid, pids in procfs.find_tagged().items()
                if uid not in known and any(procfs.works_in(pid, f"{base}/{uid}") for pid in pids)
            ]
        )

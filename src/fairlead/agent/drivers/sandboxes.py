"""What a supervisor keeps in state.json, as the agent's contract says it; and errors of the disk, as people read them.

Pure. Used by `pod.py`.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

from fairlead.agent.contract import ContainerEnded, ContainerState, Sandbox
from fairlead.agent.drivers.directories import PodIdentity
from fairlead.agent.drivers.state import NO_DEADLINE, WALLS

Json = dict[str, Any]
_FIXES = {
    errno.ENOSPC: "free space on that disk",
    errno.EDQUOT: "the agent's user has used up its quota of that disk",
    errno.EROFS: "that disk is mounted read-only",
    errno.EACCES: "let the agent's user write there",
    errno.EAGAIN: "this node has too many processes",
    errno.EMFILE: "raise the agent's limit of open files",
}


def sandbox(identity: PodIdentity, state: Json | None, alive: bool, boot: str, offset: float) -> Sandbox:
    """`boot` and `offset` of the agent: they hold for states of the same start of the machine."""
    records: list[Json] = state["containers"] if state else []
    shift = float(offset if not state or state["boot"] == boot else state["offset"])
    bounded = state is not None and state["deadline"] < NO_DEADLINE
    return Sandbox(
        identity.uid,
        identity.namespace,
        identity.name,
        identity.address,
        tuple(_container(record, shift) for record in records),
        alive=alive,
        fenced=bool(state and state["fenced"]),
        deadline=state["deadline"] + shift if state is not None and bounded else None,
        outdated=state is not None and state.get("walls") != WALLS,
    )


def _container(record: Json, shift: float) -> ContainerState:
    return ContainerState(
        name=record["name"],
        attempt=record["attempt"],
        started_at=record["started"] + shift,
        pid=record["pid"],
        ended=_ended(record["ended"], shift),
        previous=_ended(record["previous"], shift),
    )


def _ended(record: Json | None, shift: float) -> ContainerEnded | None:
    if record is None:
        return None
    return ContainerEnded(
        attempt=record["attempt"],
        exit_code=record["exit_code"],
        signal=record["signal"],
        reason=record["reason"],
        message=record["message"],
        started_at=record["started"] + shift,
        finished_at=record["finished"] + shift,
    )


def explain(error: Exception, path: Path) -> str:
    """One sentence with the place and the fix."""
    if not isinstance(error, OSError):
        return str(error)
    where = error.filename or path
    fix = _FIXES.get(error.errno or 0, "see that the agent can use that directory")
    return f"{where}: {error.strerror}: {fix}"


def listed(pids: set[int]) -> str:
    return ", ".join(str(pid) for pid in sorted(pids)[:8])

"""state.json: what a supervisor knows of its pod, so that it outlives the supervisor.

    {"format": 1, "walls": 1, "pid": 4711, "boot": BOOT_ID, "offset": WALL - BOOTTIME, "deadline": BOOTTIME,
     "fenced": false,
     "containers": [{"name", "attempt", "started", "pid", "ended": {...} | null, "previous": {...} | null}]}

Instants are of CLOCK_BOOTTIME, which never jumps and goes on while the machine sleeps; `offset` makes them wall time
once the machine was started anew. A `deadline` of NO_DEADLINE or later is none. Written by the supervisor while it runs
and by the driver (`pod.py`) when it is known to be gone; never by both at once. Standard library only.
"""

from __future__ import annotations

import os
import time

from fairlead.agent.drivers import files_beneath
from fairlead.agent.drivers.lean_stdlib import from_json, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

FORMAT = 1
# What a supervisor puts around the containers it starts: 1 since they have mounts, groups and privileges of their own.
# One that says nothing of it is older than that.
WALLS = 1
FILE = "state.json"
KILLED = 137
NO_DEADLINE = (
    4e9  # an instant that never comes, which supervisors and agents of any version take for a deadline
)
_NAME_MAX = 63
_SAID_MAX = 4096
_SECONDS_MAX = 1e10  # dates of four digits


def boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """Tells one start of the machine from another."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def new_state(deadline: float) -> Json:
    offset = time.time() - boottime()
    return {
        "format": FORMAT,
        "walls": WALLS,
        "pid": 0,
        "boot": boot_id(),
        "offset": offset,
        "deadline": deadline,
        "fenced": False,
        "containers": [],
    }


def load(directory: int) -> Json | None:
    """None where there is none that can be read, or somebody has scribbled on it. `directory` is a descriptor."""
    try:
        state = from_json(files_beneath.read_file(directory, FILE).decode())
        return state if _is_sound(state) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _is_sound(state: Json) -> bool:
    """Everything that readers go by is there, of its type, and of a size that a pod's status can take."""
    return (
        state["format"] == FORMAT
        and _counts(state["pid"])
        and isinstance(state["boot"], str)
        and all(_is_instant(state[key]) for key in ("offset", "deadline"))
        and isinstance(state["fenced"], bool)
        and all(
            0 < len(record["name"]) <= _NAME_MAX
            and _counts(record["attempt"])
            and _counts(record["pid"])
            and _is_instant(record["started"])
            and all(end is None or _is_sound_end(end) for end in (record["ended"], record["previous"]))
            for record in state["containers"]
        )
    )


def _is_sound_end(end: Json) -> bool:
    return (
        all(_counts(end[key]) for key in ("attempt", "exit_code", "signal"))
        and all(_is_instant(end[key]) for key in ("started", "finished"))
        and isinstance(end["reason"], str)
        and isinstance(end["message"], str)
        and len(end["reason"]) + len(end["message"]) <= _SAID_MAX
    )


def _counts(number: object) -> bool:
    return type(number) is int and 0 <= number < 1 << 31


def _is_instant(number: object) -> bool:
    return type(number) in (int, float) and -_SECONDS_MAX < number < _SECONDS_MAX  # type: ignore[operator]


def save(directory: int, state: Json) -> None:
    """All of it or nothing; OSError if it cannot be written."""
    new = f".{FILE}"
    try:
        files_beneath.write_new(directory, new, to_json(state).encode())
        os.replace(new, FILE, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        try:
            os.unlink(new, dir_fd=directory)
        except OSError:
            pass  # the first error is the one to tell
        raise


def mark_lost(state: Json) -> bool:
    """Runs without an end ended unseen, with their supervisor. True if there was one."""
    found = False
    here = boottime() if state["boot"] == boot_id() else 0.0
    for container in state["containers"]:
        if container["ended"] is None:
            found = True
            container["pid"] = 0
            container["ended"] = {
                "attempt": container["attempt"],
                "exit_code": KILLED,
                "signal": 9,
                "reason": "SupervisorLost",
                "message": "the pod's supervisor ended before it could see how this run ended; what was left of "
                "it has been killed",
                "started": container["started"],
                "finished": max(here, container["started"]),
            }
    return found

"""state.json: what a supervisor knows of its pod, so that it outlives the supervisor.

    {"format": 1, "pid": 4711, "boot": BOOT_ID, "offset": WALL - BOOTTIME, "deadline": BOOTTIME, "fenced": false,
     "containers": [{"name", "attempt", "started", "pid", "ended": {...} | null, "previous": {...} | null}]}

Instants are of CLOCK_BOOTTIME, which never jumps and goes on while the machine sleeps; `offset` makes them wall time
once the machine was started anew. Written by the supervisor while it runs and by the driver (`pod.py`) when it is
known to be gone; never by both at once. Standard library only.
"""

from __future__ import annotations

import os
import time

from fairlead.agent.drivers.lean import from_json, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

FORMAT = 1
FILE = "state.json"
KILLED = 137


def boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    """Tells one start of the machine from another."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def fresh(deadline: float) -> Json:
    offset = time.time() - boottime()
    return {
        "format": FORMAT,
        "pid": 0,
        "boot": boot_id(),
        "offset": offset,
        "deadline": deadline,
        "fenced": False,
        "containers": [],
    }


def load(directory: str) -> Json | None:
    """None where there is none that can be read."""
    try:
        with open(f"{directory}/{FILE}", encoding="utf-8") as file:
            state = from_json(file.read())
    except (FileNotFoundError, ValueError):
        return None
    return state if isinstance(state, dict) and state.get("format") == FORMAT else None


def save(directory: str, state: Json) -> None:
    """All of it or nothing; OSError if it cannot be written."""
    new = f"{directory}/.{FILE}"
    try:
        with open(new, "w", encoding="utf-8") as file:
            file.write(to_json(state))
        os.replace(new, f"{directory}/{FILE}")
    except OSError:
        try:
            os.unlink(new)
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

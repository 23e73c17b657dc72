"""Finding out what keeps pods apart on this machine: by trying it, once, when the agent starts.

Called by `runtime/node/process.py`, which publishes it, and by `process.py`. Blocks for a moment.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fairlead
from fairlead.agent.contract import Isolation
from fairlead.agent.drivers import limits

_TRY = "import sys; sys.path.append(sys.argv[1]); from fairlead.agent.drivers.{} import attempt; attempt()"
_TRY_SECONDS = 30.0


def find_isolation() -> Isolation:
    root = os.geteuid() == 0
    mounts = _succeeds("private_mounts")
    return Isolation(
        mounts=mounts,
        users=root,
        processes=mounts and (not root or _succeeds("user_namespaces")),
        pids=limits.limits_pids(limits.find()),
        user=os.geteuid(),
        group=os.getegid(),
    )


def _succeeds(module: str) -> bool:
    """In a process of its own, which ends with what it made."""
    package = str(Path(fairlead.__path__[0]).parent)
    command = [sys.executable, "-I", "-S", "-E", "-c", _TRY.format(module), package]
    try:
        tried = subprocess.run(command, cwd="/", capture_output=True, timeout=_TRY_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0

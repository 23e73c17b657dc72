"""Compiles the sources and the tests once, before the workers of `make test` would each do it at the same time.

    python -m tests.compiled

Done by as many processes as there are cores, each with its share of the folders; pytest keeps its rewritten tests beside
Python's own bytecode. A stamp there says for which sources it was done: where nothing changed, this takes a moment. It
saves most on a fresh machine, where loading the tests takes four times as long as later.
"""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAMP = "compiled.stamp"
# By how long they take to load; unit tests are half of it.
_SHARES = (
    ("tests/unit/api", "tests/unit/control", "tests/unit/reconcile", "tests/clients"),
    ("tests/sim", "tests/e2e", "tests/docs", "tests/property", "tests/unit/model", "tests/unit/runtime"),
)


def main() -> None:
    prefix = os.environ.get("PYTHONPYCACHEPREFIX")
    if not prefix or sys.dont_write_bytecode:
        return
    stamp, now = Path(prefix) / STAMP, _state()
    if stamp.exists() and stamp.read_text() == now:
        return
    quiet = {"cwd": ROOT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    jobs = [subprocess.Popen([*collect, *share], **quiet) for share in _SHARES]  # type: ignore[call-overload]
    for job in jobs:
        job.wait()  # what is wrong with a test is told by the run itself
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(now)


def _state() -> str:
    """Of all sources: their names, sizes and times."""
    found = blake2b(digest_size=16)
    for folder in ("src", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            stat = path.stat()
            found.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return found.hexdigest()


if __name__ == "__main__":
    main()

"""One agent per node's directory: the lock ends with its process, and tells whose it is."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairlead.core.errors import DataDirectoryBusy
from fairlead.runtime.node import locks as node_locks

HOLD = "import sys; from pathlib import Path; from fairlead.runtime.node.locks import hold; hold(Path(sys.argv[1]), 'n'); print('held', flush=True); sys.stdin.read()"


def test_a_second_agent_is_told_who_the_first_is(tmp_path: Path) -> None:
    descriptor = node_locks.hold(tmp_path / "n", "n")
    with pytest.raises(DataDirectoryBusy, match=rf"an agent of node n runs already .*process {os.getpid()}"):
        node_locks.hold(tmp_path / "n", "n")
    os.close(descriptor)
    os.close(node_locks.hold(tmp_path / "n", "n"))


def test_the_holder_is_known_until_it_ends_however_it_ends(tmp_path: Path) -> None:
    assert node_locks.holder(tmp_path) is None
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert node_locks.holder(tmp_path) == process.pid
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert node_locks.holder(tmp_path) is None


def test_looking_whether_it_is_held_does_not_hold_it(tmp_path: Path) -> None:
    os.close(node_locks.hold(tmp_path, "n"))
    assert node_locks.holder(tmp_path) is None
    os.close(node_locks.hold(tmp_path, "n"))


def test_who_only_looks_turns_no_agent_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.close(node_locks.hold(tmp_path, "n"))
    looking = os.open(tmp_path / node_locks.LOCK, os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_EX)
    monkeypatch.setattr(time, "sleep", lambda seconds: fcntl.flock(looking, fcntl.LOCK_UN))
    held = node_locks.hold(tmp_path, "n")
    assert node_locks.holder(tmp_path) == os.getpid()
    os.close(held)
    os.close(looking)


def test_a_lock_whose_file_was_removed_guards_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "n"
    descriptor = node_locks.hold(directory, "n")
    assert node_locks.is_held(directory, descriptor)
    (directory / node_locks.LOCK).unlink()
    assert not node_locks.is_held(directory, descriptor)
    other = node_locks.hold(directory, "n")
    assert not node_locks.is_held(directory, descriptor)
    assert node_locks.is_held(directory, other)
    os.close(descriptor)
    os.close(other)

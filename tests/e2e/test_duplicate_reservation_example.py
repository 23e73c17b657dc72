"""The script of examples/duplicate_reservation: faults in a running plane, captured, and played again without it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.running import FAIRLEAD, need_kubectl

SCRIPT = Path(__file__).parents[2] / "examples" / "duplicate_reservation" / "run.sh"
_SECONDS = 600


@pytest.mark.soak
def test_the_incident_is_captured_under_faults_and_played_again_to_the_byte(tmp_path: Path) -> None:
    need_kubectl()
    environment = {
        **os.environ,
        "PATH": f"{FAIRLEAD.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }
    done = subprocess.run(
        ["bash", SCRIPT, tmp_path / "found.incident"],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    told = done.stdout
    assert "one, as it should be" in told
    assert "decisions run again: all equal" in told
    again, _, planted = told.partition("== with a controller that reads a lost answer as a failure")
    assert "commits of the plane: all equal" in again
    assert "2 starts of a plane fed" in again
    assert "invariants hold" in again
    assert "broken: one-reservation" in planted

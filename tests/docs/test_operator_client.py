"""The guide's operator with the plain `kubernetes` client: what its tests say, run as a reader runs them."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.docs.pages import ROOT


def test_the_sound_operator_passes_and_the_stale_view_of_the_hasty_one_is_found() -> None:
    """In a process of its own: the example has a conftest.py of its own, as its author's would."""
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "examples/operator_client"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "5 passed" in ran.stdout

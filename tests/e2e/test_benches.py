"""The bench of scheduling runs to its end, with records and without: it changes a server from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "scheduling.py"


@pytest.mark.parametrize("without_records", [False, True])
def test_pods_are_placed_and_kept_and_records_can_be_left_out(without_records: bool) -> None:
    words = ["--bare", "--nodes", "5", "--pods", "40", "--json"] + ["--without-records"] * without_records
    ran = subprocess.run(
        [sys.executable, BENCH, *words], capture_output=True, text=True, timeout=120, check=True
    )
    told: dict[str, Any] = json.loads(ran.stdout)
    assert told["after_kill"]["after"] == {"pods": 40, "bound": 40}
    assert told["pods_per_second"] > 0

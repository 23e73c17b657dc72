"""`kopf`: the operator beside this file, run by kopf's own runner, while the API is unkind to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kopf.testing import KopfRunner

from fairlead.testing import Plane

HERE = Path(__file__).parent
TAB = "/apis/stable.example.com/v1/namespaces/default/crontabs/nightly"


def until(holds: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.fairlead(crds=[HERE / "crontabs.yaml"])
def test_the_operator_keeps_its_promise(fairlead_plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    p = fairlead_plane
    monkeypatch.setenv("KUBECONFIG", str(p.kubeconfig))
    operator = str(HERE / "crontab_operator.py")
    with KopfRunner(["run", "--standalone", "-n", "default", operator], timeout=30):
        p.create(
            {
                "apiVersion": "stable.example.com/v1",
                "kind": "CronTab",
                "metadata": {"name": "nightly"},
                "spec": {"cronSpec": "0 3 * * *"},
            }
        )
        until(lambda: p.request("GET", TAB).body.get("status", {}).get("phase") == "Scheduled")
        with p.unkind(seed=7, delay_seconds=0.05, lost_replies=0.2):
            p.crash()
            time.sleep(1)
        p.request("DELETE", TAB)
        until(lambda: p.request("GET", TAB).status == 404)  # its finalizer was removed

"""A run of a runbook on a real server that is killed while it is at its steps: it goes on, and does nothing twice.

Each kill costs the time until somebody leads again: all of them are for `make soak`.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import nursery
from tests.conftest import SOAK
from tests.e2e.raw import assert_no_traceback
from tests.running import Running

Json = dict[str, Any]
RUN = "/apis/fairlead.dev/v1/namespaces/default/runbookruns/run"
MAPS = "/api/v1/namespaces/default/configmaps"
_PATCH = {"Content-Type": "application/merge-patch+json"}
_WAIT_SECONDS = 60.0


def _book() -> Json:
    def make(name: str) -> Json:
        return {
            "name": name,
            "create": {"object": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"by": name}}},
        }

    ask = {"question": "go on?", "fields": [{"name": "yes", "values": ["yes"]}]}
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "Runbook",
        "metadata": {"name": "book"},
        "spec": {
            "summary": "one of each",
            "read": [{"name": "go", "apiVersion": "v1", "kind": "ConfigMap", "objectName": "go"}],
            "preconditions": [{"name": "early", "expression": "go == null"}],
            "steps": [
                make("first"),
                {"name": "went", "wait": {"until": "go != null"}},
                make("second"),
                {"name": "confirm", "ask": ask},
                {"name": "unmake", "delete": {"step": "first"}},
            ],
            "postconditions": [{"name": "went", "expression": "go != null"}],
        },
    }


class Killed:
    """A server that is killed whenever somebody has done something, at a moment that moves."""

    def __init__(self, directory: Path) -> None:
        self.server = Running(directory)
        self._kills = 0

    def do(self, method: str, target: str, body: Json, *, always: bool = False) -> None:
        """`always`: killed after that, whether the soak is on or not."""
        headers = _PATCH if method == "PATCH" else None
        status, answer = self.server.request(method, target, body, headers=headers)
        assert status in (200, 201), answer
        if always or SOAK:
            self.kill()

    def kill(self) -> None:
        time.sleep(0.02 * self._kills)  # before, while and after the plane acts on it
        self._kills += 1
        self.server.kill()
        self.server = Running(self.server.directory, self.server.port)

    def until(self, holds: Callable[[Json], bool]) -> Json:
        deadline = time.monotonic() + _WAIT_SECONDS
        while time.monotonic() < deadline:
            _, run = self.server.request("GET", RUN)
            if holds(run.get("status") or {}):
                return run["status"]  # type: ignore[no-any-return]
            time.sleep(0.3)
        raise AssertionError(f"it is not so after {_WAIT_SECONDS} s: {run}")


def _is_at(step: str) -> Callable[[Json], bool]:
    return lambda status: status.get("step") == step and status["steps"][-1]["state"] == "Running"


def test_a_run_goes_on_after_kills_and_does_nothing_twice(tmp_path: Path) -> None:
    killed = Killed(tmp_path / "data")
    try:
        killed.do("POST", "/apis/fairlead.dev/v1/runbooks", _book())
        run = {"apiVersion": "fairlead.dev/v1", "kind": "RunbookRun", "metadata": {"name": "run"}}
        killed.do("POST", RUN.removesuffix("/run"), {**run, "spec": {"runbook": "book"}}, always=True)
        killed.until(_is_at("went"))
        killed.do("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "go"}})
        killed.until(_is_at("confirm"))
        answer = {"step": "confirm", "values": {"yes": "yes"}}
        killed.do("PATCH", RUN, {"spec": {"answers": [answer]}})
        status = killed.until(lambda found: found.get("phase") == "Succeeded")
        assert [each["state"] for each in status["steps"]] == ["Done"] * 5
        _, listed = killed.server.request("GET", f"{MAPS}?labelSelector=fairlead.dev/runbook-run%3Drun")
        assert [each["data"]["by"] for each in listed["items"]] == ["second"]
        lines = _audit(killed.server, status["steps"][0]["made"]["name"])
        assert [each["verb"] for each in lines] == ["create", "delete"]
        assert_no_traceback(killed.server)
    finally:
        killed.server.kill()


def _audit(server: Running, name: str) -> list[Json]:
    """What was ever done to a ConfigMap."""
    done = subprocess.run(
        [
            nursery.command(),
            "audit",
            "--object",
            f"configmap/{name}",
            "-n",
            "default",
            "-o",
            "json",
            "--limit",
            "100",
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
    )
    records = [each["record"] for each in json.loads(done.stdout)["items"]]
    return [each for each in records if each["verb"] in ("create", "delete")]

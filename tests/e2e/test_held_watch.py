"""An override while the plane's watch of overrides is held up: nobody has observed it, and its status says who."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.e2e.raw import assert_no_traceback
from tests.running import Running

Json = dict[str, Any]
OVERRIDES = "/apis/fairlead.dev/v1/namespaces/default/scheduleroverrides"
GROUP = {"apiVersion": "fairlead.dev/v1"}
_WAIT_SECONDS = 60.0


def _observed(server: Running) -> Json:
    found = server.request("GET", f"{OVERRIDES}/held")[1].get("status") or {}
    conditions = (
        each for each in found.get("conditions") or () if each["type"] == "SchedulerOverrideObserved"
    )
    return next(conditions, {})


def _wait(server: Running, status: str) -> Json:
    deadline = time.monotonic() + _WAIT_SECONDS
    while (found := _observed(server)).get("status") != status:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
    return found


def test_an_override_that_the_plane_does_not_hear_of_is_observed_by_nobody_and_says_by_whom(
    tmp_path: Path,
) -> None:
    server = Running(tmp_path / "data")
    try:
        settings = {**GROUP, "kind": "PlaneSettings", "metadata": {"name": "default"}}
        settings["spec"] = {"chaos": {"allowed": True}}
        assert server.request("POST", "/apis/fairlead.dev/v1/planesettings", settings)[0] == 201
        spec = {
            "faults": [{"name": "watch_lag", "percent": 100}],
            "resources": ["scheduleroverrides.fairlead.dev"],
            "seconds": 60,
            "reason": "who has not heard?",
        }
        chaos = {**GROUP, "kind": "ChaosExperiment", "metadata": {"name": "held"}, "spec": spec}
        said = server.request("POST", "/apis/fairlead.dev/v1/chaosexperiments", chaos)
        assert said[0] == 201, said
        change = {"pauseExpansion": True}
        spec = {"target": "namespace/default", "reason": "held", "expiresAfter": "30m", "changes": change}
        override = {**GROUP, "kind": "SchedulerOverride", "metadata": {"name": "held"}, "spec": spec}
        assert server.request("POST", OVERRIDES, override)[0] == 201
        found = _wait(server, "False")
        assert found["reason"] == "NotHeard"
        assert found["message"].startswith("the leading plane has not heard of it, or does not run it: ")
        assert "replicaset" in found["message"]
        assert server.request("DELETE", "/apis/fairlead.dev/v1/chaosexperiments/held")[0] == 200
        assert _wait(server, "True")["reason"] == "Observed"
        assert_no_traceback(server)
    finally:
        server.kill()

"""A SchedulingPolicy that was deleted stays in use, also for a server that starts anew; and what it did is explained."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests import nursery
from tests.clients.converging import eventually
from tests.clients.kubectl import Operator
from tests.clients.manifests import pod
from tests.running import Running, need_kubectl

ARGUMENTS = ("--hollow-nodes", "2")


def ours(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "fairlead.dev/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def test_the_policy_in_use_outlives_its_object_and_the_server(tmp_path: Path) -> None:
    need_kubectl()
    server = Running(tmp_path / "data", arguments=ARGUMENTS)
    kubectl = Operator(server.kubeconfig)

    def settings() -> dict[str, Any]:
        return dict(json.loads(kubectl.asked("get planesettings default -o json")).get("status") or {})

    def policy_of(name: str) -> list[Any]:
        done = subprocess.run(
            [nursery.command(), "explain", f"pod/{name}", "-o", "json"],
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
            text=True, capture_output=True, timeout=120, check=True,
        )  # fmt: skip
        answer = json.loads(done.stdout)
        return [*answer["attempt"]["policy"], answer["again"]["agrees"]] if answer["attempt"] else []

    try:
        kubectl("create -f -", ours("SchedulingPolicy", "v4", scoring={"strategy": "MostAllocated"}))
        kubectl("create -f -", ours("PlaneSettings", "default", schedulingPolicy="v4"))
        eventually(lambda: settings().get("schedulingPolicy", {}).get("name") == "v4")
        kubectl("create -f -", pod("before"))
        eventually(lambda: policy_of("before") == ["v4", 1, True])
        kubectl("delete schedulingpolicy v4")
        eventually(lambda: settings()["conditions"][1]["reason"] == "NotFound")
        server.kill()

        server = Running(tmp_path / "data", server.port, arguments=ARGUMENTS)
        kubectl("create -f -", pod("after"))
        eventually(lambda: policy_of("after") == ["v4", 1, True])
        assert policy_of("before") == ["v4", 1, True]
        told = settings()
        assert told["schedulingPolicy"]["spec"] == {"scoring": {"strategy": "MostAllocated"}}
        assert told["conditions"][1]["message"] == (
            "SchedulingPolicy v4 does not exist; until it can be used, v4 (generation 1) stays in use"
        )
        assert server.stop() == 0
    finally:
        server.process.kill()

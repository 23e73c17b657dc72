"""A server whose wall clock is set an hour back or ahead while it runs: whoever looks at it sees no difference."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fairlead.core.times import parse_time
from fairlead.testing import Plane, plane
from tests.clients.converging import eventually

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/fairlead-plane"
PODS = "/api/v1/namespaces/default/pods"
HOUR = 3600.0
Json = dict[str, Any]


def pod(name: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "busybox"}]},
    }


def events(p: Plane, namespace: str) -> list[Json]:
    found: list[Json] = p.request("GET", f"/api/v1/namespaces/{namespace}/events").body["items"]
    return found


def scheduled(p: Plane, name: str) -> bool:
    return any(
        (each["reason"], each["involvedObject"]["name"]) == ("Scheduled", name)
        for each in events(p, "default")
    )


@pytest.mark.parametrize("by", [HOUR, -HOUR], ids=["ahead", "back"])
def test_leases_events_and_expiry_go_on_and_the_step_is_told(by: float) -> None:
    ahead = 0.0
    with plane(hollow_nodes=1, wall_clock=lambda: time.time() + ahead) as p:
        p.create(pod("before"))
        eventually(lambda: scheduled(p, "before"))
        made_before = parse_time(p.request("GET", f"{PODS}/before").body["metadata"]["creationTimestamp"])
        renewed = p.request("GET", LEASE).body["spec"]["renewTime"]
        ahead = by

        def told() -> list[str]:
            found = events(p, "kube-system")
            return [each["message"] for each in found if each["reason"] == "ClockStepped"]

        (message,) = eventually(told)
        assert f"was set {'ahead' if by > 0 else 'back'} by 3600 s" in message
        eventually(lambda: p.request("GET", LEASE).body["spec"]["renewTime"] > renewed)
        p.create(pod("after"))
        eventually(lambda: scheduled(p, "after"))
        assert scheduled(p, "before")  # nothing expired that is not an hour old
        made_after = parse_time(p.request("GET", f"{PODS}/after").body["metadata"]["creationTimestamp"])
        assert 0 <= made_after - made_before < HOUR / 2
        nodes = p.request("GET", "/api/v1/nodes").body["items"]
        assert {each["type"]: each["status"] for each in nodes[0]["status"]["conditions"]}["Ready"] == "True"
        assert not nodes[0]["spec"].get("taints")
        metrics = p.request("GET", "/metrics").body
        assert "fairlead_clock_steps_total 1\n" in metrics
        assert f"fairlead_clock_ahead_seconds {by:.0f}" in metrics

"""Overrides say that nobody leads, by the Lease of whoever runs the controllers: of the server, or of `fairlead control`."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from fairlead.core import codec
from fairlead.model.marks import CONTROL_LEASE, PLANE_LEASE
from fairlead.port.request import Reply, Request
from fairlead.runtime.server.host import PLANE
from fairlead.runtime.server.unled import Unled
from tests.inprocess import InProcess

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
OVERRIDES = "/apis/fairlead.dev/v1/namespaces/default/scheduleroverrides"


class World:
    def __init__(self, lease: str) -> None:
        self.plane = InProcess()
        self.api = SimpleNamespace(desk=SimpleNamespace(read=self.plane.store))
        self._unled = Unled(self, lambda: self.plane.now, lease)  # type: ignore[arg-type]
        for name in (PLANE_LEASE, CONTROL_LEASE):
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
            assert self.plane.post(LEASES, {**body, "spec": {"leaseDurationSeconds": 15}})[0] == 201
        spec = {
            "target": "namespace",
            "reason": "a drill",
            "expiresAfter": "1h",
            "changes": {"pauseRollout": True},
        }
        body = {"apiVersion": "fairlead.dev/v1", "kind": "SchedulerOverride", "metadata": {"name": "calm"}}
        assert self.plane.post(OVERRIDES, {**body, "spec": spec})[0] == 201
        observed = {
            "type": "SchedulerOverrideObserved",
            "status": "True",
            "reason": "Observed",
            "message": "by all",
        }
        self._tell({"status": {"active": True, "conditions": [observed]}})

    async def call(self, request: Request) -> Reply:
        return Reply(self._tell(codec.decode(request.body)), b"{}")

    def _tell(self, status: dict[str, object]) -> int:
        code, answer = self.plane.patch(f"{OVERRIDES}/calm/status", status, user=PLANE)
        assert code == 200, answer
        return code

    def pass_seconds(self, seconds: int, renewed: str) -> str:
        """Why it is told as observed or not, after so long in which one Lease was renewed."""
        for _ in range(seconds):
            self.plane.now += 1
            spec = {"spec": {"renewTime": f"2026-01-01T00:00:00.{int(self.plane.now) % 1_000_000:06d}Z"}}
            assert self.plane.patch(f"{LEASES}/{renewed}", spec, "merge-patch")[0] == 200
            asyncio.run(self._unled.look())
        conditions = self.plane.get(f"{OVERRIDES}/calm")[1]["status"]["conditions"]
        return next(str(each["reason"]) for each in conditions if each["type"] == "SchedulerOverrideObserved")


@pytest.mark.parametrize(("leads", "other"), [(PLANE_LEASE, CONTROL_LEASE), (CONTROL_LEASE, PLANE_LEASE)])
def test_only_who_runs_the_controllers_counts_as_leading(leads: str, other: str) -> None:
    world = World(leads)
    assert world.pass_seconds(40, renewed=leads) == "Observed"
    assert world.pass_seconds(25, renewed=other) == "Observed"
    assert world.pass_seconds(10, renewed=other) == "NoLeader"

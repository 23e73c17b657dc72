"""Replicas that wait for others are no reason to add more; and lag alone raises the number only so far."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.decision.contract import Waiting
from fairlead.model.reasons import DESIRED, TABLE, may_add_replicas
from fairlead.model.views import DEPLOYMENTS, PLANE_SETTINGS, PODS, RESOURCE_QUOTAS
from fairlead.reconcile.autoscaling import decider as autoscaling
from fairlead.reconcile.autoscaling.blocked import REACT_TO_BLOCKED
from fairlead.reconcile.autoscaling.pausing import PAUSED
from tests.unit.reconcile.autoscaling.scaling import (
    WORKLOADS,
    condition,
    look,
    message,
    replicas,
    scaled,
    use,
)
from tests.unit.reconcile.world import World

Json = dict[str, Any]
# What people wait for: few are there to serve, and the fewer, the higher it is.
WANTING: Json = {
    "type": "Object",
    "object": {
        "metric": {"name": "unavailableReplicas"},
        "describedObject": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "target": {"type": "Value", "value": "1"},
    },
}


def unschedulable(world: World) -> None:
    """Pods that are not ready fit on no node, and the Deployment counts them."""
    told = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes",
        "owner": "user",
    }
    for pod in world.list(PODS):
        if not pod.spec.node_name:
            world.edit_status(PODS, pod.metadata.name, {"conditions": [told]})


def short(world: World, to: int) -> None:
    """The Deployment wants so many; those that are not there yet fit on no node."""
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": to}})
    world.settle(WORKLOADS)
    unschedulable(world)
    world.settle(WORKLOADS)


def test_replicas_that_fit_on_no_node_bring_no_more() -> None:
    world = scaled(2, metrics=(WANTING,))
    short(world, 5)
    decision = look(world)
    assert replicas(world) == 5
    assert isinstance(decision.verdict, Waiting)
    assert decision.verdict.reason == "ReplicasBlocked"
    assert condition(world, "ScalingLimited") == ("True", "ReplicasBlocked")
    assert message(world, "ScalingLimited").startswith(
        "3 of 5 replicas wait at queued for Unschedulable, which more replicas would wait for as well; next step: user"
    )
    assert decision.inputs[-1] == {
        "forbade": "ReplicasBlocked", "wanted": 6, "waiting": 3, "placed": 2, "blocked": 3,
        "reason": "Unschedulable", "owner": "user",
    }  # fmt: skip


def test_whoever_asks_for_it_gets_the_amplification_up_to_the_bound() -> None:
    world = scaled(2, metrics=(WANTING,), metadata={"annotations": {REACT_TO_BLOCKED: "true"}})
    world.add(PLANE_SETTINGS, "default", spec={"autoscaling": {"amplificationMax": 4}})
    short(world, 5)
    numbers: list[int] = []
    for _ in range(5):
        look(world, 15)
        short(world, replicas(world))
        numbers.append(replicas(world))
    assert numbers == [6, 8, 8, 8, 8]  # eight are four times the two that have a node
    assert condition(world, "ScalingLimited") == ("True", "AmplificationLimit")


def test_a_window_has_a_bound_of_its_own_however_often_replicas_come_to_a_node() -> None:
    world = scaled(2, metrics=(WANTING,), metadata={"annotations": {REACT_TO_BLOCKED: "true"}})
    bounds = {"amplificationMax": 100, "amplificationPerWindowMax": 2.5, "amplificationWindowSeconds": 200}
    world.add(PLANE_SETTINGS, "default", spec={"autoscaling": bounds})
    numbers: list[int] = []
    for _ in range(6):
        short(world, replicas(world) if numbers else 5)
        decision = look(world, 20)
        numbers.append(replicas(world))
    assert numbers == [6, 8, 12, 13, 13, 13]  # two and a half times the five that there were when it began
    assert message(world, "ScalingLimited").endswith("which is 2.5 times the 5 of 200 s ago")
    assert decision.inputs[-1]["bound"] == 13
    assert decision.inputs[-1]["windowReplicas"] == 5
    world.tick(200)
    assert look(world, 20).verdict != decision.verdict
    assert replicas(world) > 13


def test_lag_of_the_scheduler_raises_the_number_no_further_than_the_bound() -> None:
    """Nobody says why they wait: the scheduler has not come to them."""
    world = scaled(4, metrics=(WANTING,))
    numbers: list[int] = []
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 6}})
    for _ in range(4):
        world.settle(WORKLOADS)
        look(world, 15)
        numbers.append(replicas(world))
    assert numbers == [8, 8, 8, 8]


def test_a_used_up_quota_is_named() -> None:
    world = scaled(2)
    world.add(RESOURCE_QUOTAS, "few", spec={"hard": {"pods": "2"}})
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 3}})
    told = [
        {
            "type": "fairlead.dev/WaitingFor",
            "status": "True",
            "reason": "WaitingForResourceQuota",
            "message": "few",
        }
    ]
    world.edit_status(DEPLOYMENTS, "web", {"conditions": told})
    use(world, "300m")
    look(world)
    assert replicas(world) == 3
    assert "for WaitingForResourceQuota" in message(world, "ScalingLimited")
    assert "next step: quota-admin" in message(world, "ScalingLimited")


def test_fewer_may_always_be_asked_for() -> None:
    world = scaled(2, behavior={"scaleDown": {"stabilizationWindowSeconds": 0}})
    short(world, 5)
    use(world, "10m")
    look(world)
    assert replicas(world) < 5


def test_one_container_that_fails_is_no_reason_to_stop() -> None:
    world = scaled(2)
    use(world, "100m")
    name = world.list(PODS)[0].metadata.name
    crashed: Json = {"name": "main", "image": "", "imageID": "", "ready": False, "restartCount": 3}
    crashed["state"] = {"waiting": {"reason": "CrashLoopBackOff"}}
    failed = {"type": "Ready", "status": "False", "lastTransitionTime": timestamp(world.now)}
    world.edit_status(PODS, name, {"containerStatuses": [crashed], "conditions": [failed]})
    look(world)
    assert replicas(world) > 2


def test_every_reason_says_whether_more_may_be_added() -> None:
    """What further replicas would wait for as well, and what concerns one of them alone."""
    adds = {row.reason for row in TABLE if row.adds}
    assert {"NotCreated", "NotStarted", "NotReady", "NodeUnknown", "CrashLoopBackOff"} <= adds
    waits = {row.reason for row in TABLE if not row.adds}
    assert {
        "WaitingForResourceQuota",
        "Unschedulable",
        "SchedulingRetrying",
        "Braked",
        "DeploymentPaused",
    } <= waits
    assert may_add_replicas(DESIRED, "a word of somebody else")
    assert may_add_replicas("starting", "FailedCreate")  # of a container, not of a workload


def test_a_pause_holds_every_change(monkeypatch: pytest.MonkeyPatch) -> None:
    world = scaled(2)
    use(world, "90m")
    asked = []

    def paused(view: object, namespace: str, target: str, now: float) -> str:
        asked.append((namespace, target))
        return "calm"

    monkeypatch.setattr(autoscaling, "paused_by", paused)
    decision = look(world)
    assert replicas(world) == 2
    assert asked[0] == ("default", "deployment/web")
    assert isinstance(decision.verdict, Waiting)
    assert (decision.verdict.reason, "calm" in decision.verdict.message) == (PAUSED, True)
    assert condition(world, "AbleToScale") == ("False", PAUSED)
    monkeypatch.undo()
    look(world, 15)
    assert replicas(world) == 4

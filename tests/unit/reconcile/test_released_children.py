"""What owners make of a released pod: it counts for none of them, and each has its own way on."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.decision.effects import Create, Delete
from fairlead.model.marks import RELEASED, REPLACES
from fairlead.model.views import DAEMONSETS, JOBS, NODES, PODS, REPLICASETS
from fairlead.reconcile.daemonset import DaemonSetDecider
from fairlead.reconcile.job import JobDecider
from fairlead.reconcile.replicaset import ReplicaSetDecider
from fairlead.store.contract import Key
from tests.unit.reconcile.world import Refused, World, selector, template


def release(world: World, name: str, status: str = "True") -> None:
    conditions = world.objects[PODS.name, "default", name]["status"].get("conditions") or []
    world.edit_status(
        PODS,
        name,
        {"conditions": [*conditions, {"type": RELEASED, "status": status, "reason": "NodeSilent"}]},
    )


def made(count: int) -> World:
    world = World()
    world.add(REPLICASETS, "web", spec={"replicas": count, "selector": selector(), "template": template()})
    world.settle([ReplicaSetDecider()])
    world.start_pods()
    world.settle([ReplicaSetDecider()])
    return world


def live(world: World) -> list[str]:
    return [pod.metadata.name for pod in world.list(PODS) if pod.live]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_replica_set_makes_one_replacement_for_each(count: int) -> None:
    world = made(5)
    gone = live(world)[:count]
    for name in gone:
        release(world, name)
    world.settle([ReplicaSetDecider()], each=lambda: _at_most(world, 5))
    replaced = sorted(
        pod.metadata.annotations[REPLACES] for pod in world.list(PODS) if REPLACES in pod.metadata.annotations
    )
    assert replaced == sorted(world.objects[PODS.name, "default", name]["metadata"]["uid"] for name in gone)
    assert len(live(world)) == 5


def test_what_is_only_announced_changes_nothing() -> None:
    world = made(2)
    release(world, live(world)[0], "False")
    world.settle([ReplicaSetDecider()])
    assert len(world.list(PODS)) == 2


def test_a_pod_that_came_back_meanwhile_is_not_replaced() -> None:
    world = made(2)
    (name, _) = live(world)
    release(world, name)
    world.turn(ReplicaSetDecider(), "web")  # reports
    decision = world.decide(ReplicaSetDecider(), Key(REPLICASETS.name, "default", "web"))
    (create,) = decision.effects
    assert isinstance(create, Create)
    world.edit_status(PODS, name, {"conditions": []})
    with pytest.raises(Refused, match="pods"):
        world.apply([create])


def test_a_replacement_that_is_gone_is_replaced_under_another_identity() -> None:
    world = made(2)
    release(world, live(world)[0])
    world.settle([ReplicaSetDecider()])
    (first,) = (pod for pod in world.list(PODS) if REPLACES in pod.metadata.annotations)
    world.delete(PODS, first.metadata.name)
    world.stop_pods()
    world.settle([ReplicaSetDecider()])
    identities = [each.identity for each in world.writes if isinstance(each, Create)]
    assert len(set(identities)) == len(identities)
    assert len(live(world)) == 2


def test_a_daemon_set_waits_for_its_node() -> None:
    world = World()
    for name in ("n1", "n2"):
        world.add(NODES, name)
    world.add(DAEMONSETS, "log", spec={"selector": selector(), "template": template()})
    world.settle([DaemonSetDecider()])
    world.start_pods()
    before = [pod.metadata.name for pod in world.list(PODS)]
    release(world, before[0])
    world.settle([DaemonSetDecider()])
    assert [pod.metadata.name for pod in world.list(PODS)] == before, (
        "a second one would run on the same node"
    )
    assert not any(isinstance(each, Delete) for each in world.writes)


def test_a_job_counts_it_as_failed_and_goes_on() -> None:
    world = World()
    spec: dict[str, Any] = {"completions": 1, "template": template(restartPolicy="Never")}
    world.add(JOBS, "sum", spec={**spec, "selector": selector(), "manualSelector": True})
    world.settle([JobDecider()])
    world.start_pods()
    (name,) = live(world)
    release(world, name)
    world.settle([JobDecider()])
    world.tick(60)
    world.settle([JobDecider()])
    assert len(live(world)) == 1
    assert name not in live(world)
    status = world.objects[JOBS.name, "default", "sum"]["status"]
    assert (status["failed"], status["active"]) == (1, 1)


def _at_most(world: World, count: int) -> None:
    assert len(live(world)) <= count


def test_a_set_that_grows_does_not_replace_the_same_pod_again() -> None:
    world = made(2)
    release(world, live(world)[0])
    world.settle([ReplicaSetDecider()])
    world.edit(REPLICASETS, "web", {"spec": {"replicas": 4}})
    world.settle([ReplicaSetDecider()])
    assert len(live(world)) == 4
    assert sum(REPLACES in pod.metadata.annotations for pod in world.list(PODS)) == 1

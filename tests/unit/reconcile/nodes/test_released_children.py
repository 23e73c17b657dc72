"""What owners make of a released pod: it counts for none of them, and each has its own way on."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.decision.effects import Create, Delete
from fairlead.model.key import Key
from fairlead.model.marks import RELEASED, REPLACES
from fairlead.model.views import DAEMONSETS, JOBS, NODES, PODS, REPLICASETS
from fairlead.reconcile.daemonset.decider import daemonset_decider
from fairlead.reconcile.job.decider import job_decider
from fairlead.reconcile.replicaset import replicaset_decider
from tests.unit.reconcile.world import Refused, World, selector, template


def release(world: World, name: str, status: str = "True") -> None:
    conditions = world.objects[Key(PODS.name, "default", name)]["status"].get("conditions") or []
    world.edit_status(
        PODS,
        name,
        {"conditions": [*conditions, {"type": RELEASED, "status": status, "reason": "NodeSilent"}]},
    )


def made(count: int) -> World:
    world = World()
    world.add(REPLICASETS, "web", spec={"replicas": count, "selector": selector(), "template": template()})
    world.settle([replicaset_decider()])
    world.start_pods()
    world.settle([replicaset_decider()])
    return world


def live(world: World) -> list[str]:
    return [pod.metadata.name for pod in world.list(PODS) if pod.live]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_replica_set_makes_one_replacement_for_each(count: int) -> None:
    world = made(5)
    gone = live(world)[:count]
    for name in gone:
        release(world, name)
    world.settle([replicaset_decider()], each=lambda: _at_most(world, 5))
    replaced = sorted(
        pod.metadata.annotations[REPLACES] for pod in world.list(PODS) if REPLACES in pod.metadata.annotations
    )
    assert replaced == sorted(
        world.objects[Key(PODS.name, "default", name)]["metadata"]["uid"] for name in gone
    )
    assert len(live(world)) == 5


def test_what_is_only_announced_changes_nothing() -> None:
    world = made(2)
    release(world, live(world)[0], "False")
    world.settle([replicaset_decider()])
    assert len(world.list(PODS)) == 2


def test_a_pod_that_came_back_meanwhile_is_not_replaced() -> None:
    world = made(2)
    (name, _) = live(world)
    release(world, name)
    world.turn(replicaset_decider(), "web")  # reports
    decision = world.decide(replicaset_decider(), Key(REPLICASETS.name, "default", "web"))
    (create,) = decision.effects
    assert isinstance(create, Create)
    world.edit_status(PODS, name, {"conditions": []})
    with pytest.raises(Refused, match="pods"):
        world.apply([create])


def test_a_replacement_that_is_gone_is_replaced_under_another_identity() -> None:
    world = made(2)
    release(world, live(world)[0])
    world.settle([replicaset_decider()])
    (first,) = (pod for pod in world.list(PODS) if REPLACES in pod.metadata.annotations)
    world.delete(PODS, first.metadata.name)
    world.stop_pods()
    world.settle([replicaset_decider()])
    identities = [each.identity for each in world.writes if isinstance(each, Create)]
    assert len(set(identities)) == len(identities)
    assert len(live(world)) == 2


def test_a_daemon_set_waits_for_its_node() -> None:
    world = World()
    for name in ("n1", "n2"):
        world.add(NODES, name)
    world.add(DAEMONSETS, "log", spec={"selector": selector(), "template": template()})
    world.settle([daemonset_decider()])
    world.start_pods()
    before = [pod.metadata.name for pod in world.list(PODS)]
    release(world, before[0])
    world.settle([daemonset_decider()])
    assert [pod.metadata.name for pod in world.list(PODS)] == before, (
        "a second one would run on the same node"
    )
    assert not any(isinstance(each, Delete) for each in world.writes)


def test_a_job_counts_it_as_failed_and_goes_on() -> None:
    world = World()
    spec: dict[str, Any] = {"completions": 1, "template": template(restartPolicy="Never")}
    world.add(JOBS, "sum", spec={**spec, "selector": selector(), "manualSelector": True})
    world.settle([job_decider()])
    world.start_pods()
    (name,) = live(world)
    release(world, name)
    world.settle([job_decider()])
    world.tick(60)
    world.settle([job_decider()])
    assert len(live(world)) == 1
    assert name not in live(world)
    status = world.objects[Key(JOBS.name, "default", "sum")]["status"]
    assert (status["failed"], status["active"]) == (1, 1)


def job_of(world: World, **spec: Any) -> list[str]:
    """A Job whose pods run; their names."""
    made = {
        "template": template(restartPolicy="Never"),
        "selector": selector(),
        "manualSelector": True,
        **spec,
    }
    world.add(JOBS, "sum", spec=made)
    world.settle([job_decider()])
    world.start_pods()
    return live(world)


def replaced(world: World) -> dict[str, str]:
    """Pods by what they take the place of."""
    uids = {pod.metadata.uid: pod.metadata.name for pod in world.list(PODS)}
    found = {pod.metadata.name: pod.metadata.annotations.get(REPLACES, "") for pod in world.list(PODS)}
    return {uids[uid]: name for name, uid in found.items() if uid}


def test_a_jobs_pods_name_those_whose_place_they_take_each_once() -> None:
    world = World()
    first = job_of(world, completions=4, parallelism=3)
    for name in first[:2]:
        release(world, name)
    world.settle([job_decider()])
    assert sorted(replaced(world)) == sorted(first[:2])
    assert set(replaced(world).values()) <= set(live(world))
    world.start_pods()
    (third,) = set(live(world)) & set(first)
    world.set_pod(third, "Succeeded")
    world.settle([job_decider()])
    assert len(live(world)) == 3
    assert sorted(replaced(world)) == sorted(first[:2]), "the next pod takes nobody's place"


def test_the_pod_of_an_index_takes_the_place_of_that_index() -> None:
    world = World()
    first = job_of(world, completions=12, parallelism=12, completionMode="Indexed", backoffLimit=20)

    def index_of(name: str) -> str:
        annotations = world.objects[Key(PODS.name, "default", name)]["metadata"]["annotations"]
        return str(annotations["batch.kubernetes.io/job-completion-index"])

    lost = [name for name in first if index_of(name) in ("2", "10")]  # by name they come the other way round
    for name in lost:
        release(world, name)
    world.settle([job_decider()])
    found = replaced(world)
    assert sorted(found) == sorted(lost)
    assert all(index_of(old) == index_of(new) for old, new in found.items())


def test_a_job_s_pod_that_came_back_meanwhile_is_not_replaced() -> None:
    world = World()
    (name,) = job_of(world)
    release(world, name)
    key = Key(JOBS.name, "default", "sum")
    while not any(isinstance(each, Create) for each in world.decide(job_decider(), key).effects):
        world.turn(job_decider(), "sum")  # reports, and waits
        world.tick(20)
    (create,) = world.decide(job_decider(), key).effects
    world.edit_status(PODS, name, {"conditions": []})
    with pytest.raises(Refused, match="pods"):
        world.apply([create])


def test_a_job_that_is_over_asks_for_the_end_of_a_pod_that_nobody_will_replace() -> None:
    world = World()
    (name,) = job_of(world, backoffLimit=0)
    release(world, name)
    world.settle([job_decider()])
    conditions = {
        each["type"] for each in world.objects[Key(JOBS.name, "default", "sum")]["status"]["conditions"]
    }
    assert "FailureTarget" in conditions
    assert not live(world)
    assert "deletionTimestamp" in world.objects[Key(PODS.name, "default", name)]["metadata"]


def test_a_job_that_has_enough_pods_asks_for_the_end_of_one_that_was_released() -> None:
    world = World()
    first = job_of(world, completions=4, parallelism=2)
    world.edit(JOBS, "sum", {"spec": {"parallelism": 1}})
    release(world, first[0])
    world.settle([job_decider()])
    assert live(world) == [first[1]]
    assert replaced(world) == {}
    assert "deletionTimestamp" in world.objects[Key(PODS.name, "default", first[0])]["metadata"]


def _at_most(world: World, count: int) -> None:
    assert len(live(world)) <= count


def test_a_set_that_grows_does_not_replace_the_same_pod_again() -> None:
    world = made(2)
    release(world, live(world)[0])
    world.settle([replicaset_decider()])
    world.edit(REPLICASETS, "web", {"spec": {"replicas": 4}})
    world.settle([replicaset_decider()])
    assert len(live(world)) == 4
    assert sum(REPLACES in pod.metadata.annotations for pod in world.list(PODS)) == 1

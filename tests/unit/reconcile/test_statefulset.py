"""The StatefulSet controller: names, order of coming and going, updates with a partition, status."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.decision.contract import NOTHING, SETTLED, Waiting
from fairlead.model.key import Key
from fairlead.model.views import CONTROLLER_REVISIONS, PODS, STATEFULSETS, Pod, StatefulSet
from fairlead.reconcile.revisions import REVISION_LABEL
from fairlead.reconcile.statefulset import statefulset_decider
from fairlead.reconcile.statefulset_pods import ordinal_of
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import NOW, World, names, selector, template

DECIDER = statefulset_decider()
KEY = Key("statefulsets.apps", "default", "db")


def make(world: World, replicas: int = 3, **spec: Any) -> None:
    spec = {"serviceName": "db", "selector": selector(), "template": template(), "replicas": replicas, **spec}
    world.add(STATEFULSETS, "db", spec=spec)


def found(world: World) -> StatefulSet:
    view = world.get(STATEFULSETS, "default", "db")
    assert view is not None
    return view


def settle(world: World) -> list[str]:
    world.settle([DECIDER])
    return names(world.list(PODS))


def run(world: World) -> None:
    """Nodes and controller take turns until nothing moves any more."""
    while True:
        settle(world)
        if not world.start_pods() + world.stop_pods():
            return


def scale(world: World, replicas: int) -> None:
    world.edit(STATEFULSETS, "db", {"spec": {"replicas": replicas}})


def new_image(world: World, image: str, **strategy: Any) -> None:
    spec: dict[str, Any] = {"template": template(image=image)}
    if strategy:
        spec["updateStrategy"] = {"rollingUpdate": strategy}
    world.edit(STATEFULSETS, "db", {"spec": spec})


def images(world: World) -> dict[str, str]:
    return {pod.metadata.name: pod.spec.containers[0].image for pod in world.list(PODS)}


def test_pods_come_one_by_one_each_when_the_one_before_is_ready() -> None:
    world = World()
    make(world)
    for count in (1, 2, 3):
        assert settle(world) == [f"db-{number}" for number in range(count)]
        assert world.decide(DECIDER, KEY).verdict == Waiting("PodNotReady", f"db-{count - 1}")
        world.start_pods()
    settle(world)
    assert world.decide(DECIDER, KEY).verdict == SETTLED
    status = found(world).status
    assert (status.replicas, status.ready_replicas, status.current_replicas, status.updated_replicas) == (
        3,
    ) * 4
    assert status.observed_generation == 1
    assert status.current_revision == status.update_revision


def test_parallel_pods_come_and_go_all_at_once() -> None:
    world = World()
    make(world, podManagementPolicy="Parallel")
    assert settle(world) == ["db-0", "db-1", "db-2"]
    world.start_pods()
    scale(world, 1)
    settle(world)
    assert [pod.metadata.name for pod in world.list(PODS) if pod.live] == ["db-0"]


def test_a_pod_carries_its_identity() -> None:
    world = World()
    make(world, 1)
    settle(world)
    pod = world.objects[Key("pods", "default", "db-0")]
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-0", "db")
    labels = pod["metadata"]["labels"]
    assert labels[REVISION_LABEL] == found(world).status.update_revision
    assert labels["statefulset.kubernetes.io/pod-name"] == "db-0"
    assert labels["apps.kubernetes.io/pod-index"] == "0"


def test_ordinals_may_start_elsewhere() -> None:
    world = World()
    make(world, 2, ordinals={"start": 5})
    run(world)
    assert names(world.list(PODS)) == ["db-5", "db-6"]
    world.edit(STATEFULSETS, "db", {"spec": {"ordinals": {"start": 6}}})
    run(world)
    assert names(world.list(PODS)) == ["db-6", "db-7"]


def test_pods_go_one_by_one_from_the_highest() -> None:
    world = World()
    make(world)
    run(world)
    scale(world, 1)
    settle(world)
    assert [pod.metadata.name for pod in world.list(PODS) if pod.live] == ["db-0", "db-1"]
    world.stop_pods()
    settle(world)
    assert [pod.metadata.name for pod in world.list(PODS) if pod.live] == ["db-0"]


def test_no_pod_goes_while_one_that_stays_is_not_ready() -> None:
    world = World()
    make(world, 2)
    run(world)
    world.set_pod("db-0", "Running", ready=False)
    scale(world, 1)
    settle(world)
    assert all(pod.live for pod in world.list(PODS))
    assert world.decide(DECIDER, KEY).verdict == Waiting("PodNotReady", "db-0")


def test_a_pod_comes_back_under_its_name_only_when_it_has_gone() -> None:
    world = World()
    make(world)
    run(world)
    old = world.get(PODS, "default", "db-1")
    assert old is not None
    world.delete(PODS, "db-1")
    settle(world)
    assert world.decide(DECIDER, KEY).verdict == Waiting("PodTerminating", "db-1")
    world.stop_pods()
    settle(world)
    new = world.get(PODS, "default", "db-1")
    assert new is not None
    assert new.metadata.uid != old.metadata.uid


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_has_ended_is_replaced(phase: str) -> None:
    world = World()
    make(world, 2)
    run(world)
    world.set_pod("db-0", phase)
    run(world)
    assert [pod.status.phase for pod in world.list(PODS)] == ["Running", "Running"]


def test_an_update_goes_from_the_highest_down_each_when_the_one_above_is_ready() -> None:
    world = World()
    make(world)
    run(world)
    before = found(world).status.current_revision
    new_image(world, "nginx:2")
    order = []
    for _ in range(3):
        settle(world)
        order += [pod.metadata.name for pod in world.list(PODS) if not pod.live]
        world.stop_pods()
        settle(world)
        assert found(world).status.current_revision == before
        world.start_pods()
    assert order == ["db-2", "db-1", "db-0"]
    settle(world)
    status = found(world).status
    assert set(images(world).values()) == {"nginx:2"}
    assert status.current_revision == status.update_revision != before
    assert (status.current_replicas, status.updated_replicas) == (3, 3)


def test_an_update_stops_at_the_partition_and_pods_below_come_back_as_they_were() -> None:
    world = World()
    make(world, 4)
    run(world)
    new_image(world, "nginx:2", partition=2)
    run(world)
    expected = {"db-0": "nginx:1.27", "db-1": "nginx:1.27", "db-2": "nginx:2", "db-3": "nginx:2"}
    assert images(world) == expected
    status = found(world).status
    assert (status.current_replicas, status.updated_replicas) == (2, 2)
    for name in ("db-0", "db-3"):
        world.delete(PODS, name)
    run(world)
    assert images(world) == expected
    world.edit(STATEFULSETS, "db", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
    run(world)
    assert set(images(world).values()) == {"nginx:2"}


def test_an_update_waits_for_a_new_pod_that_does_not_become_ready() -> None:
    world = World()
    make(world)
    run(world)
    new_image(world, "broken")
    settle(world)
    world.stop_pods()
    settle(world)
    assert images(world) == {"db-0": "nginx:1.27", "db-1": "nginx:1.27", "db-2": "broken"}
    assert world.decide(DECIDER, KEY).verdict == Waiting("PodNotReady", "db-2")


def test_on_delete_leaves_replacing_to_whoever_deletes() -> None:
    world = World()
    make(world, updateStrategy={"type": "OnDelete"})
    run(world)
    new_image(world, "nginx:2")
    run(world)
    assert set(images(world).values()) == {"nginx:1.27"}
    world.delete(PODS, "db-1")
    run(world)
    assert images(world)["db-1"] == "nginx:2"
    assert found(world).status.updated_replicas == 1


def test_min_ready_seconds_delay_the_next_pod() -> None:
    world = World()
    make(world, 2, minReadySeconds=20)
    settle(world)
    world.start_pods()
    settle(world)
    assert names(world.list(PODS)) == ["db-0"]
    assert world.decide(DECIDER, KEY).again_at == NOW + 20
    assert (found(world).status.ready_replicas, found(world).status.available_replicas) == (1, 0)
    world.tick(20)
    assert settle(world) == ["db-0", "db-1"]


def test_the_template_is_recorded_before_the_first_pod_is_made() -> None:
    world = World()
    make(world)
    world.turn(DECIDER, "db")
    assert len(world.list(CONTROLLER_REVISIONS)) == 1
    assert world.list(PODS) == ()


def test_without_the_current_revision_the_newest_is_the_current_one() -> None:
    world = World()
    make(world)
    run(world)
    current = found(world).status.current_revision
    new_image(world, "nginx:2", partition=3)
    run(world)
    assert set(images(world).values()) == {"nginx:1.27"}
    world.delete(CONTROLLER_REVISIONS, current)
    world.delete(PODS, "db-2")
    run(world)
    assert images(world)["db-2"] == "nginx:2"


@pytest.mark.parametrize(("allowed", "gone"), [(1, 1), (2, 2), ("50%", 2), ("90%", 3), (9, 4)])
@pytest.mark.parametrize("partition", [0, 3])
def test_an_update_takes_so_many_pods_at_a_time(allowed: int | str, gone: int, partition: int) -> None:
    world = World()
    make(world, 4, podManagementPolicy="Parallel")
    run(world)
    new_image(world, "nginx:2", maxUnavailable=allowed, partition=partition)
    settle(world)
    going = [pod.metadata.name for pod in world.list(PODS) if not pod.live]
    assert going == ["db-0", "db-1", "db-2", "db-3"][max(4 - gone, partition) :]
    run(world)
    assert images(world) == {f"db-{n}": "nginx:2" if n >= partition else "nginx:1.27" for n in range(4)}


def test_a_pod_that_is_down_anyway_counts_among_those_that_may_be_missing() -> None:
    world = World()
    make(world, 4, podManagementPolicy="Parallel")
    run(world)
    world.set_pod("db-0", "Running", ready=False)
    new_image(world, "nginx:2", maxUnavailable=2)
    settle(world)
    assert [pod.metadata.name for pod in world.list(PODS) if not pod.live] == ["db-3"]


def test_a_name_that_a_stranger_has_is_waited_for() -> None:
    world = World()
    world.add(PODS, "db-0", spec={"containers": [{"name": "main", "image": "a"}]})
    make(world, 1)
    settle(world)
    assert world.decide(DECIDER, KEY).verdict == Waiting("NameTaken", "db-0")
    [stranger] = world.list(PODS)
    assert KEY in woken(DECIDER, "pods", stranger, None, world)


def test_an_orphan_with_a_name_of_ours_is_adopted_and_no_other() -> None:
    world = World()
    for name in ("db-0", "other"):
        world.add(PODS, name, metadata={"labels": {"app": "web"}}, spec=template()["spec"])
    make(world, 1)
    run(world)
    owners = {pod.metadata.name: pod.metadata.controller for pod in world.list(PODS)}
    assert owners["db-0"] is not None
    assert owners["db-0"].uid == found(world).metadata.uid
    assert owners["other"] is None


def test_a_set_that_is_being_deleted_is_left_alone() -> None:
    world = World()
    make(world)
    settle(world)
    world.delete(STATEFULSETS, "db", policy="Foreground")
    world.delete(PODS, "db-0")
    assert world.decide(DECIDER, KEY) == NOTHING


def test_a_settled_set_is_not_written_again() -> None:
    world = World()
    make(world)
    run(world)
    writes = len(world.writes)
    world.tick(1000)
    run(world)
    assert len(world.writes) == writes


@pytest.mark.parametrize(
    ("name", "ordinal"),
    [("db-0", 0), ("db-12", 12), ("db-01", -1), ("db-", -1), ("db-x", -1), ("dbx-1", -1), ("my-db-1", -1)],
)
def test_only_canonical_names_have_an_ordinal(name: str, ordinal: int) -> None:
    world = World()
    make(world)
    assert ordinal_of(found(world), name) == ordinal


def test_sets_and_their_pods_wake_the_set() -> None:
    world = World()
    make(world)
    settle(world)
    pod: Pod = world.list(PODS)[0]
    assert tuple(woken(DECIDER, "pods", pod, None)) == (KEY,)
    assert tuple(woken(DECIDER, "statefulsets.apps", None, found(world))) == (KEY,)

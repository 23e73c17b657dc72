"""The DaemonSet controller: one pod per node that should have one, updates, status."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.decision.contract import NOTHING, SETTLED
from fairlead.decision.effects import Delete, premise_of
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.model.views import DAEMONSETS, NODES, PODS, DaemonSet, Pod
from fairlead.reconcile.daemonset.decider import daemonset_decider
from fairlead.reconcile.daemonset.eligibility import pinned_node
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import NOW, World, selector, template

DECIDER = daemonset_decider()
KEY = Key("daemonsets.apps", "default", "log")
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
NO_NETWORK = {"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}
Json = dict[str, Any]


def wants(key: str, operator: str, *values: str) -> Json:
    """A pod that requires nodes with such a label."""
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


def node(world: World, name: str, labels: Json | None = None, ready: str = "True", **spec: Any) -> None:
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    world.add(NODES, name, metadata={"labels": labels or {}}, spec=spec, status=status)


def make(world: World, nodes: int = 3, pod: Json | None = None, **spec: Any) -> None:
    for number in range(nodes):
        node(world, f"n{number}")
    spec = {"selector": selector(), "template": template(**(pod or {})), **spec}
    world.add(DAEMONSETS, "log", spec=spec)


def found(world: World) -> DaemonSet:
    view = world.get(DAEMONSETS, "default", "log")
    assert view is not None
    return view


def run(world: World) -> None:
    while True:
        world.settle([DECIDER])
        if not world.start_pods() + world.stop_pods():
            return


def at(pod: Pod) -> str:
    return pod.spec.node_name or pinned_node(pod.spec)


def test_who_takes_the_place_of_a_pod_has_another_name() -> None:
    world = World()
    make(world, nodes=1)
    run(world)
    (first,) = world.list(PODS)
    world.delete(PODS, first.metadata.name)
    run(world)
    (second,) = world.list(PODS)
    assert at(second) == at(first)
    assert second.metadata.name != first.metadata.name


def where(world: World) -> list[str]:
    return sorted(at(pod) for pod in world.list(PODS) if pod.live)


def by_node(world: World) -> dict[str, Pod]:
    return {at(pod): pod for pod in world.list(PODS) if pod.live}


def test_every_node_gets_one_pod() -> None:
    world = World()
    make(world)
    run(world)
    assert where(world) == ["n0", "n1", "n2"]
    status = found(world).status
    assert status.desired_number_scheduled == status.current_number_scheduled == status.number_ready == 3
    assert status.updated_number_scheduled == status.number_available == 3
    assert (status.number_unavailable, status.number_misscheduled, status.observed_generation) == (0, 0, 1)
    assert world.decide(DECIDER, KEY).verdict == SETTLED


@pytest.mark.parametrize(
    ("about_node", "about_pod", "runs"),
    [
        pytest.param({}, {}, True, id="plain"),
        pytest.param({"unschedulable": True}, {}, True, id="cordoned"),
        pytest.param({"ready": "False"}, {}, True, id="not ready"),
        pytest.param(
            {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]},
            {},
            True,
            id="marked",
        ),
        pytest.param({"taints": [TAINT]}, {}, False, id="tainted"),
        pytest.param({"taints": [{**TAINT, "effect": "PreferNoSchedule"}]}, {}, True, id="a mere preference"),
        pytest.param({"taints": [TAINT]}, {"tolerations": [{"operator": "Exists"}]}, True, id="tolerated"),
        pytest.param({}, {"nodeSelector": {"disk": "ssd"}}, False, id="not selected"),
        pytest.param({"labels": {"disk": "ssd"}}, {"nodeSelector": {"disk": "ssd"}}, True, id="selected"),
        pytest.param({}, {"nodeName": "other"}, False, id="meant for another"),
        pytest.param({}, wants("disk", "In", "ssd"), False, id="affinity not met"),
        pytest.param({"labels": {"disk": "ssd"}}, wants("disk", "In", "ssd"), True, id="affinity met"),
        pytest.param({}, wants("disk", "DoesNotExist"), True, id="affinity by absence"),
        pytest.param({}, {"hostNetwork": True}, True, id="host network"),
        pytest.param({"taints": [NO_NETWORK]}, {"hostNetwork": True}, True, id="needs no network"),
        pytest.param({"taints": [NO_NETWORK]}, {}, False, id="needs a network"),
    ],
)
def test_which_nodes_get_one(about_node: Json, about_pod: Json, runs: bool) -> None:
    world = World()
    node(world, "n", **about_node)
    make(world, 0, pod=about_pod)
    run(world)
    assert where(world) == (["n"] if runs else [])
    assert found(world).status.desired_number_scheduled == int(runs)


def test_a_new_node_wakes_every_set_and_gets_its_pods() -> None:
    world = World()
    make(world, 1)
    run(world)
    node(world, "n9")
    new = world.get(NODES, "", "n9")
    assert tuple(woken(DECIDER, "nodes", None, new, world)) == (KEY,)
    world.turn(DECIDER, "log")
    assert where(world) == ["n0", "n9"]


def test_a_heartbeat_of_a_node_wakes_nobody() -> None:
    world = World()
    make(world, 1)
    before = world.get(NODES, "", "n0")
    world.edit_status(NODES, "n0", {"conditions": [{"type": "Ready", "status": "False"}]}, namespace="")
    assert tuple(woken(DECIDER, "nodes", before, world.get(NODES, "", "n0"), world)) == ()
    world.edit(NODES, "n0", {"spec": {"taints": [TAINT]}}, namespace="")
    assert tuple(woken(DECIDER, "nodes", before, world.get(NODES, "", "n0"), world)) == (KEY,)


def test_the_pod_of_a_node_that_is_gone_goes_too() -> None:
    world = World()
    make(world)
    run(world)
    world.delete(NODES, "n1", namespace="")
    world.turn(DECIDER, "log")
    run(world)
    assert where(world) == ["n0", "n2"]
    assert found(world).status.desired_number_scheduled == 2


@pytest.mark.parametrize(("effect", "stays"), [("NoSchedule", True), ("NoExecute", False)])
def test_a_taint_drives_a_pod_out_only_if_it_says_so(effect: str, stays: bool) -> None:
    world = World()
    make(world, 1)
    run(world)
    world.edit(NODES, "n0", {"spec": {"taints": [{**TAINT, "effect": effect}]}}, namespace="")
    run(world)
    assert bool(where(world)) is stays
    assert found(world).status.number_misscheduled == int(stays)


@pytest.mark.parametrize("is_there", [True, False], ids=["tainted", "gone"])
def test_a_pod_is_driven_out_only_while_its_node_is_as_it_was_seen(is_there: bool) -> None:
    """A taint that is taken off meanwhile drives nothing out, and neither does the absence of a node that came again."""
    world = World()
    make(world, 1)
    run(world)
    if is_there:
        world.edit(NODES, "n0", {"spec": {"taints": [{**TAINT, "effect": "NoExecute"}]}}, namespace="")
    else:
        world.delete(NODES, "n0", namespace="")
    decision = world.decide(DECIDER, Key(DAEMONSETS.name, "default", "log"))
    [delete] = [effect for effect in decision.effects if isinstance(effect, Delete)]
    seen = next((premise_of(NODES, each.metadata) for each in world.list(NODES)), None)
    assert delete.premises[1:] == (seen or Premise(Key(NODES.name, "", "n0"), 0),)
    assert (seen is not None) is is_there


def test_a_pod_is_replaced_when_it_has_gone_and_not_before() -> None:
    world = World()
    make(world, 1)
    run(world)
    (pod,) = world.list(PODS)
    world.delete(PODS, pod.metadata.name)
    world.settle([DECIDER])
    assert where(world) == []
    world.stop_pods()
    world.settle([DECIDER])
    assert where(world) == ["n0"]


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_ended_is_replaced_but_not_in_a_hot_loop(phase: str) -> None:
    world = World()
    make(world, 1)
    world.settle([DECIDER])
    (pod,) = world.list(PODS)
    world.set_pod(pod.metadata.name, phase)
    world.settle([DECIDER])
    assert world.decide(DECIDER, KEY).again_at == NOW + 10
    assert len(world.list(PODS)) == 1
    world.tick(10)
    run(world)
    assert where(world) == ["n0"]


def test_of_two_pods_on_a_node_the_oldest_ready_one_stays() -> None:
    world = World()
    make(world, 1, updateStrategy={"type": "OnDelete"})
    world.settle([DECIDER])
    (first,) = world.list(PODS)
    world.tick(5)
    spec = {**template()["spec"], "nodeName": "n0"}
    world.add(PODS, "second", metadata={"labels": {"app": "web"}}, spec=spec)
    world.set_pod("second", "Running", ready=True)
    world.settle([DECIDER])
    live = [pod.metadata.name for pod in world.list(PODS) if pod.live]
    assert live == ["second"]
    assert first.metadata.name not in live


def update(world: World, image: str, **strategy: Any) -> None:
    spec: Json = {"template": template(image=image)}
    if strategy:
        spec["updateStrategy"] = {"rollingUpdate": strategy}
    world.edit(DAEMONSETS, "log", {"spec": spec})


@pytest.mark.parametrize(("allowed", "at_once"), [(1, 1), (2, 2), ("50%", 2), ("30%", 2), ("1%", 1)])
def test_an_update_takes_so_many_pods_at_a_time(allowed: int | str, at_once: int) -> None:
    world = World()
    make(world, 4)
    run(world)
    update(world, "log:2", maxUnavailable=allowed)
    rounds = 0
    while found(world).status.updated_number_scheduled < 4 or rounds == 0:
        world.settle([DECIDER])
        assert 4 - sum(pod.ready for pod in by_node(world).values()) <= at_once
        world.stop_pods()
        world.settle([DECIDER])
        assert 4 - sum(pod.ready for pod in by_node(world).values()) <= at_once
        world.start_pods()
        world.settle([DECIDER])
        rounds += 1
    assert rounds >= 4 // at_once
    run(world)
    assert {pod.spec.containers[0].image for pod in world.list(PODS)} == {"log:2"}


def test_old_pods_that_do_not_work_are_replaced_first_and_at_once() -> None:
    world = World()
    make(world, 3)
    world.settle([DECIDER])
    update(world, "log:2")
    world.settle([DECIDER])
    world.stop_pods()
    world.settle([DECIDER])
    assert {pod.spec.containers[0].image for pod in world.list(PODS) if pod.live} == {"log:2"}


def test_an_update_that_does_not_work_stops() -> None:
    world = World()
    make(world, 3)
    run(world)
    update(world, "broken")
    for _ in range(3):
        world.settle([DECIDER])
        world.stop_pods()
    assert sum(pod.spec.containers[0].image == "broken" for pod in world.list(PODS)) == 1


def test_pods_that_work_stay_while_too_many_others_do_not() -> None:
    world = World()
    make(world, 4)
    run(world)
    update(world, "broken", maxUnavailable=2)
    world.settle([DECIDER])
    world.stop_pods()
    world.settle([DECIDER])
    update(world, "broken", maxUnavailable=1)
    world.settle([DECIDER])
    assert sum(pod.ready for pod in world.list(PODS) if pod.live) == 2


def surge(world: World, image: str, amount: int | str) -> None:
    update(world, image, maxSurge=amount, maxUnavailable=0)


@pytest.mark.parametrize(("amount", "at_once"), [(1, 1), (2, 2), ("50%", 2), ("30%", 2), ("100%", 4)])
def test_a_surging_update_makes_the_new_pod_first_on_so_many_nodes(amount: int | str, at_once: int) -> None:
    world = World()
    make(world, 4)
    run(world)
    surge(world, "log:2", amount)
    for done in range(0, 4, at_once):
        world.settle([DECIDER])
        live = [pod for pod in world.list(PODS) if pod.live]
        assert len(live) == 4 + min(at_once, 4 - done)
        assert {at(pod) for pod in live if pod.ready} == {"n0", "n1", "n2", "n3"}, "no node is without"
        world.start_pods()
    run(world)
    assert [pod.spec.containers[0].image for pod in world.list(PODS)] == ["log:2"] * 4
    assert found(world).status.updated_number_scheduled == found(world).status.number_available == 4


def test_a_surging_update_that_does_not_work_leaves_the_old_pods() -> None:
    world = World()
    make(world, 3)
    run(world)
    surge(world, "broken", 1)
    world.settle([DECIDER])
    live = [pod for pod in world.list(PODS) if pod.live]
    assert (len(live), sum(pod.ready for pod in live)) == (4, 3)
    world.tick(1000)
    world.settle([DECIDER])
    assert sum(pod.live for pod in world.list(PODS)) == 4


def test_where_the_old_pod_does_not_work_the_new_one_comes_at_once_and_the_old_one_goes() -> None:
    world = World()
    make(world, 3)
    world.settle([DECIDER])
    surge(world, "log:2", 1)
    world.settle([DECIDER])
    assert [pod.spec.containers[0].image for pod in world.list(PODS) if pod.live] == ["log:2"] * 3


def test_a_new_pod_replaces_the_old_one_only_when_it_is_available() -> None:
    world = World()
    make(world, 1, minReadySeconds=30)
    run(world)
    world.tick(30)
    surge(world, "log:2", 1)
    world.settle([DECIDER])
    world.start_pods()
    world.settle([DECIDER])
    assert sum(pod.live for pod in world.list(PODS)) == 2
    assert world.decide(DECIDER, KEY).again_at == NOW + 60
    world.tick(30)
    world.settle([DECIDER])
    assert [pod.spec.containers[0].image for pod in world.list(PODS) if pod.live] == ["log:2"]


def test_a_surging_set_does_not_wait_for_a_pod_on_its_way_out() -> None:
    world = World()
    make(world, 1)
    run(world)
    world.edit(
        DAEMONSETS,
        "log",
        {"spec": {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}},
    )
    world.delete(PODS, by_node(world)["n0"].metadata.name)
    world.settle([DECIDER])
    assert where(world) == ["n0"]
    assert len(world.list(PODS)) == 2


def test_a_pod_is_made_for_its_node_and_bears_what_nodes_suffer_from() -> None:
    world = World()
    make(world, 1, pod={"tolerations": [{"key": "gpu", "operator": "Exists"}]})
    world.settle([DECIDER])
    (pod,) = world.list(PODS)
    assert (pod.spec.node_name, pinned_node(pod.spec)) == ("", "n0")
    assert [(each.key, each.effect) for each in pod.spec.tolerations] == [
        ("gpu", ""),
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ]


def test_on_delete_updates_nothing_by_itself() -> None:
    world = World()
    make(world, 2, updateStrategy={"type": "OnDelete"})
    run(world)
    world.edit(DAEMONSETS, "log", {"spec": {"template": template(image="log:2")}})
    run(world)
    assert found(world).status.updated_number_scheduled == 0
    world.delete(PODS, by_node(world)["n0"].metadata.name)
    run(world)
    assert by_node(world)["n0"].spec.containers[0].image == "log:2"


def test_min_ready_seconds_delay_availability() -> None:
    world = World()
    make(world, 1, minReadySeconds=30)
    run(world)
    assert (found(world).status.number_ready, found(world).status.number_available) == (1, 0)
    assert world.decide(DECIDER, KEY).again_at == NOW + 30
    world.tick(30)
    run(world)
    assert found(world).status.number_available == 1


def test_a_set_that_is_being_deleted_is_left_alone() -> None:
    world = World()
    make(world, 2)
    world.delete(DAEMONSETS, "log", policy="Foreground")
    assert world.decide(DECIDER, KEY) == NOTHING


def test_a_settled_set_is_not_written_again() -> None:
    world = World()
    make(world)
    run(world)
    writes = len(world.writes)
    world.tick(1000)
    run(world)
    assert len(world.writes) == writes


def test_crashes_within_a_turn_do_no_harm() -> None:
    world = World()
    make(world, 5)
    for _ in range(40):
        world.turn(DECIDER, "log", prefix=1)
        assert len(where(world)) == len(set(where(world)))
    assert where(world) == ["n0", "n1", "n2", "n3", "n4"]
    assert tuple(woken(DECIDER, "pods", world.list(PODS)[0], None)) == (KEY,)
    assert tuple(woken(DECIDER, "daemonsets.apps", None, found(world))) == (KEY,)

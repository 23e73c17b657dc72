"""Hollow nodes: they register, and the pods bound to them live and end as scripted."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.agent.hollow.pod import EXIT_CODE, FAILS, RUNS_FOR, HollowDelays, next_step
from fairlead.control.requests import request_of
from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX, NOTHING
from fairlead.decision.effects import ChangeStatus, Create, Delete
from fairlead.model.key import Key
from fairlead.model.marks import HOLLOW_NETWORK
from fairlead.model.views import NODES, PODS, Pod
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import NOW, World

NODE = Key("nodes", "", "hollow-0")
DECIDER = hollow_decider("hollow-", nodes=1, allocatable={"cpu": "4", "memory": "8Gi", "pods": "50"})


def ready_world() -> World:
    world = World()
    run(world)
    return world


def run(world: World) -> list[str]:
    """Turns of the node until nothing is due; the intents of what was done."""
    intents = []
    while effects := world.decide(DECIDER, NODE).effects:
        world.apply(effects)
        intents += [effect.identity.rpartition("/")[2] for effect in effects]
    return intents


def bound(world: World, name: str = "web", node: str = "hollow-0", **options: Any) -> None:
    metadata = {key: options.pop(key) for key in ("annotations", "finalizers") if key in options}
    spec = {"containers": [{"name": "main", "image": "a"}], "nodeName": node, **options}
    world.add(PODS, name, metadata=metadata, spec=spec)


def pod(world: World, name: str = "web") -> Pod:
    found = world.get(PODS, "default", name)
    assert found is not None
    return found


def test_a_node_that_is_missing_is_registered_with_its_status() -> None:
    (key,) = DECIDER.initial_keys
    assert key == NODE
    (effect,) = World().decide(DECIDER, key).effects
    assert isinstance(effect, Create)
    assert effect.body["status"]["allocatable"] == {"cpu": "4", "memory": "8Gi", "pods": "50"}
    assert effect.body["status"]["conditions"][0]["status"] == "True"
    assert [each["type"] for each in effect.body["status"]["addresses"]] == ["InternalIP", "Hostname"]
    assert effect.body["status"]["nodeInfo"]["operatingSystem"] == "linux"
    labels = {
        "kubernetes.io/hostname": "hollow-0",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    assert effect.body["metadata"]["labels"] == labels
    assert effect.is_done(effect.body)


def test_a_registered_node_is_ready_and_is_written_no_more() -> None:
    world = ready_world()
    (node,) = world.list(NODES)
    assert node.ready
    assert node.status.allocatable["pods"] == "50"
    world.tick(3600)
    assert world.decide(DECIDER, NODE) == NOTHING


def test_a_node_that_was_marked_not_ready_comes_back() -> None:
    world = ready_world()
    world.edit_status(
        NODES, "hollow-0", {"conditions": [{"type": "Ready", "status": "Unknown"}]}, namespace=""
    )
    assert run(world) == ["keep-ready"]
    assert world.list(NODES)[0].ready


def test_a_resource_that_somebody_added_to_a_node_is_no_reason_to_write_it() -> None:
    world = ready_world()
    more = {**world.list(NODES)[0].status.allocatable, "example.com/gpu": "2"}
    world.edit_status(NODES, "hollow-0", {"allocatable": more}, namespace="")
    assert world.decide(DECIDER, NODE) == NOTHING


def test_nodes_of_others_are_left_alone() -> None:
    world = World()
    world.add(NODES, "real-0", spec={})
    assert world.decide(DECIDER, Key("nodes", "", "real-0")) == NOTHING
    assert world.decide(DECIDER, Key("nodes", "", "hollow-7")) == NOTHING


def test_a_pod_runs_and_is_ready_after_the_start_delay() -> None:
    world = ready_world()
    bound(world)
    assert world.decide(DECIDER, NODE).again_at == NOW + 1
    world.tick(1)
    assert run(world) == ["start"]
    assert pod(world).ready
    assert pod(world).status.phase == "Running"
    assert pod(world).status.start_time == timestamp(NOW + 1)
    world.tick(1000)
    assert world.decide(DECIDER, NODE) == NOTHING


def test_a_pod_has_an_address_of_its_own_where_nobody_listens() -> None:
    world = ready_world()
    for name in ("web", "two"):
        bound(world, name)
    world.tick(1)
    run(world)
    found = [world.objects[Key("pods", "default", name)]["status"] for name in ("web", "two")]
    assert found[0]["podIP"] != found[1]["podIP"]
    assert found[0]["hostIP"] == found[1]["hostIP"]
    assert all(IPv4Address(each["podIP"]) in IPv4Network(HOLLOW_NETWORK) for each in found)


@pytest.mark.parametrize("policy", ["Always", "Never"])
def test_a_pod_that_outlives_its_deadline_fails(policy: str) -> None:
    world = ready_world()
    bound(world, annotations={RUNS_FOR: "1h"}, restartPolicy=policy, activeDeadlineSeconds=5)
    world.tick(1)
    run(world)
    assert world.decide(DECIDER, NODE).again_at == world.now + 5
    world.tick(5)
    assert run(world) == ["deadline"]
    status = world.objects[Key("pods", "default", "web")]["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


def test_the_start_delay_counts_from_when_the_pod_was_scheduled() -> None:
    world = ready_world()
    bound(world)
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": timestamp(NOW + 60)}
    world.edit_status(PODS, "web", {"conditions": [scheduled]})
    world.tick(60)
    assert world.decide(DECIDER, NODE).again_at == NOW + 61


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
@pytest.mark.parametrize(
    ("annotations", "seconds", "phase"),
    [
        ({}, 1, "Succeeded"),
        ({RUNS_FOR: "90s"}, 90, "Succeeded"),
        ({RUNS_FOR: "1m", FAILS: "true"}, 60, "Failed"),
        ({RUNS_FOR: "for ever"}, 1, "Succeeded"),
        ({FAILS: "false"}, 1, "Succeeded"),
        ({EXIT_CODE: "42"}, 1, "Failed"),
        ({EXIT_CODE: "0"}, 1, "Succeeded"),
        ({EXIT_CODE: "many"}, 1, "Succeeded"),
    ],
)
def test_a_pod_that_is_to_end_ends_as_scripted(
    policy: str, annotations: dict[str, str], seconds: int, phase: str
) -> None:
    world = ready_world()
    bound(world, annotations=annotations, restartPolicy=policy)
    world.tick(1)
    run(world)
    assert world.decide(DECIDER, NODE).again_at == world.now + seconds
    world.tick(seconds)
    assert run(world) == ["end"]
    ended = pod(world)
    assert ended.status.phase == phase
    assert not ended.ready
    terminated = ended.status.container_statuses[0]["state"]["terminated"]
    assert terminated["finishedAt"] == timestamp(world.now)
    said = annotations.get(EXIT_CODE, "")
    assert terminated["exitCode"] == (0 if phase == "Succeeded" else int(said or 1))


def test_conditions_that_others_gave_stay() -> None:
    world = ready_world()
    bound(world)
    world.tick(1)
    run(world)
    given = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    known = world.objects[Key("pods", "default", "web")]["status"]["conditions"]
    world.edit_status(PODS, "web", {"conditions": [*known, given]})
    world.delete(PODS, "web")
    world.tick(1)
    (stopped, *_) = world.decide(DECIDER, NODE).effects
    assert isinstance(stopped, ChangeStatus)
    conditions = stopped.patch["status"]["conditions"]
    assert given in conditions
    assert len(conditions) == len({each["type"] for each in conditions})


def test_a_deleted_pod_ends_and_is_removed_a_moment_later() -> None:
    world = ready_world()
    bound(world)
    world.tick(1)
    run(world)
    world.delete(PODS, "web")
    assert world.decide(DECIDER, NODE).again_at == world.now + 1
    world.tick(1)
    assert run(world) == ["stop", "remove"]
    assert world.list(PODS) == ()


def test_a_short_grace_is_not_overrun() -> None:
    world = ready_world()
    bound(world, terminationGracePeriodSeconds=2)
    world.delete(PODS, "web")
    step = next_step(pod(world), world.now, HollowDelays(stop_seconds=60.0))
    assert step is not None
    assert step.due == NOW + 2


def test_a_finalizer_keeps_a_stopped_pod_and_the_node_stays_calm() -> None:
    world = ready_world()
    bound(world, finalizers=["example.com/hold"])
    world.delete(PODS, "web")
    world.tick(1)
    assert run(world) == ["stop", "remove"]
    assert pod(world).status.phase == "Failed"
    assert world.decide(DECIDER, NODE) == NOTHING


def test_removal_names_the_very_pod_and_asks_for_no_grace() -> None:
    world = ready_world()
    bound(world)
    world.set_pod("web", "Failed")
    world.delete(PODS, "web")
    # A finished pod has no grace left to honour, unless it was deleted while it ran.
    assert world.list(PODS) == ()
    bound(world)
    world.delete(PODS, "web")
    world.tick(1)
    world.apply(world.decide(DECIDER, NODE).effects)
    (effect,) = world.decide(DECIDER, NODE).effects
    assert isinstance(effect, Delete)
    assert (effect.uid, effect.grace_seconds) == (pod(world).metadata.uid, 0)
    assert b'"gracePeriodSeconds":0' in request_of(effect).body
    found = world.objects[Key("pods", "default", "web")]
    assert not effect.is_done(found)
    found["metadata"]["deletionGracePeriodSeconds"] = 0
    assert effect.is_done(found)


def test_a_running_pod_that_was_marked_unready_becomes_ready_again() -> None:
    world = ready_world()
    bound(world)
    world.set_pod("web", "Running", ready=False)
    assert run(world) == ["ready"]
    assert pod(world).ready


def test_a_turn_has_a_bounded_number_of_effects_and_the_next_goes_on() -> None:
    world = ready_world()
    for number in range(EFFECTS_MAX + 3):
        bound(world, f"p{number:02}")
    world.tick(1)
    assert len(world.decide(DECIDER, NODE).effects) == EFFECTS_MAX
    assert len(run(world)) == EFFECTS_MAX + 3


def test_conditions_keep_the_time_of_their_last_change() -> None:
    world = ready_world()
    bound(world)
    world.tick(1)
    run(world)
    world.tick(5)
    world.delete(PODS, "web")
    world.tick(1)
    (effect,) = world.decide(DECIDER, NODE).effects
    assert isinstance(effect, ChangeStatus)
    since = {each["type"]: each["lastTransitionTime"] for each in effect.patch["status"]["conditions"]}
    assert since["Initialized"] == timestamp(NOW + 1)
    assert since["Ready"] == timestamp(NOW + 7)


def test_pods_and_nodes_wake_the_node_they_concern() -> None:
    world = ready_world()
    bound(world)
    bound(world, "other", "real-0")
    assert tuple(woken(DECIDER, "pods", None, pod(world))) == (NODE,)
    assert tuple(woken(DECIDER, "pods", pod(world), None)) == (NODE,)
    assert tuple(woken(DECIDER, "pods", None, pod(world, "other"))) == ()
    assert tuple(woken(DECIDER, "nodes", None, world.list(NODES)[0])) == (NODE,)

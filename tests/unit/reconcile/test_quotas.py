"""The controllers of quotas, reservations and policies: what wakes them, and what they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.decision.contract import Waiting
from fairlead.decision.effects import ChangeStatus, Delete
from fairlead.ledger.reservation import IN_USE
from fairlead.model.key import Key
from fairlead.model.kinds.reservation import name_for
from fairlead.model.views import (
    DEPLOYMENTS,
    NODES,
    PLACEMENT_QUOTAS,
    PLANE_SETTINGS,
    PODS,
    RESERVATIONS,
    RESOURCE_QUOTAS,
    SCHEDULING_POLICIES,
    Resource,
)
from fairlead.reconcile.placement_quota import placement_quota_decider
from fairlead.reconcile.plane_settings import plane_settings_decider
from fairlead.reconcile.reservation import ALL, EXPIRED_KEPT_SECONDS, reservation_decider
from fairlead.reconcile.resource_quota import resource_quota_decider
from fairlead.reconcile.scheduling_policy import ALL as POLICIES
from fairlead.reconcile.scheduling_policy import scheduling_policy_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import NAMESPACE, NOW, World, selector, template

Json = dict[str, Any]


def pod(world: World, name: str, node: str = "", cpu: str = "1") -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    world.add(PODS, name, spec={"containers": [container], **({"nodeName": node} if node else {})})


def node(world: World, name: str, zone: str = "", cpu: str = "4", ready: str = "True") -> None:
    status = {
        "allocatable": {"cpu": cpu, "pods": "10"},
        "conditions": [{"type": "Ready", "status": ready}],
    }
    world.add(NODES, name, metadata={"labels": {"zone": zone}}, status=status)


def status(world: World, resource: Resource[Any], name: str, namespace: str = NAMESPACE) -> Json:
    found: Json = world.objects[Key(resource.name, namespace, name)].get("status", {})
    return found


# Quotas


def test_a_placement_quota_is_counted_again_when_pods_went() -> None:
    world = World()
    node(world, "c-1", "c")
    node(world, "d-1", "d")
    in_zone = {"nodeSelector": {"matchLabels": {"zone": "c"}}, "hard": {"cpu": "8", "pods": "5"}}
    world.add(PLACEMENT_QUOTAS, "zone-c", spec=in_zone)
    for name, at in (("a", "c-1"), ("b", "c-1"), ("other", "d-1"), ("waits", ""), ("lost", "gone-1")):
        pod(world, name, at)
    world.settle([placement_quota_decider()])
    told = status(world, PLACEMENT_QUOTAS, "zone-c")
    assert (told["used"], told["observedGeneration"]) == ({"cpu": "2", "pods": "2"}, 1)
    world.set_pod("a", "Succeeded", node="c-1")
    assert world.settle([placement_quota_decider()]) == 1
    assert status(world, PLACEMENT_QUOTAS, "zone-c")["used"] == {"cpu": "1", "pods": "1"}
    assert world.settle([placement_quota_decider()]) == 0


def test_a_resource_quota_is_counted_again_when_something_went() -> None:
    world = World()
    world.add(RESOURCE_QUOTAS, "q", spec={"hard": {"pods": "5", "count/deployments.apps": "2"}})
    pod(world, "a")
    pod(world, "b")
    world.add(DEPLOYMENTS, "web", spec={"selector": selector(), "template": template()})
    decider = resource_quota_decider()
    world.turn(decider, "")
    assert status(world, RESOURCE_QUOTAS, "q") == {
        "hard": {"pods": "5", "count/deployments.apps": "2"},
        "used": {"pods": "2", "count/deployments.apps": "1"},
    }
    world.delete(DEPLOYMENTS, "web")
    world.set_pod("a", "Failed")
    world.turn(decider, "q")
    assert status(world, RESOURCE_QUOTAS, "q")["used"] == {"pods": "1", "count/deployments.apps": "0"}
    assert world.turn(decider, "").effects == ()


def test_only_what_frees_something_wakes_the_quotas_of_a_namespace() -> None:
    world = World()
    placement, resources = placement_quota_decider(), resource_quota_decider()
    pod(world, "a")
    waiting = world.get(PODS, NAMESPACE, "a")
    world.set_pod("a", "Running")
    running = world.get(PODS, NAMESPACE, "a")
    world.set_pod("a", "Succeeded")
    ended = world.get(PODS, NAMESPACE, "a")
    for decider in (placement, resources):
        space = Key(decider.reads[0].name, NAMESPACE, "")
        assert tuple(woken(decider, "pods", None, waiting)) == ()
        assert tuple(woken(decider, "pods", waiting, running)) == ()
        assert tuple(woken(decider, "pods", running, ended)) == (space,)
        assert tuple(woken(decider, "pods", running, None)) == (space,)
    assert tuple(woken(placement, "pods", ended, None)) == ()
    node(world, "n", "c")
    before = world.get(NODES, "", "n")
    world.edit(NODES, "n", {"metadata": {"labels": {"zone": "d"}}}, "")
    after = world.get(NODES, "", "n")
    assert tuple(woken(placement, "nodes", before, after)) == (Key(PLACEMENT_QUOTAS.name, "", ""),)
    assert tuple(woken(placement, "nodes", after, after)) == ()


# Reservations


def reserve(world: World, intent: str = "recover", **spec: Any) -> str:
    owner = world.objects.get(Key(DEPLOYMENTS.name, NAMESPACE, "web"))
    if owner is None:
        owner = world.add(DEPLOYMENTS, "web", spec={"selector": selector(), "template": template()})
    uid = owner["metadata"]["uid"]
    name = name_for(uid, intent)
    whole = {
        "owner": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid},
        "intent": intent,
        "requests": {"cpu": "3"},
        "ttlSeconds": 60,
        **({} if "nodeName" in spec else {"nodeSelector": {}}),
        **spec,
    }
    world.add(RESERVATIONS, name, spec=whole)
    return name


def run(world: World) -> Any:
    decision = world.decide(reservation_decider(), ALL)
    world.apply(decision.effects)
    return decision


def phase(world: World, name: str) -> tuple[str, str, str]:
    found = status(world, RESERVATIONS, name)
    (ready,) = found["conditions"]
    return found["phase"], found.get("nodeName", ""), ready.get("message", "")


def test_reservations_get_the_first_node_with_room_and_never_the_same_room() -> None:
    world = World()
    for name in ("a", "b", "c"):
        node(world, name)
    pod(world, "big", "a", "2")
    names = [reserve(world, intent) for intent in ("one", "two", "three")]
    assert isinstance(run(world).verdict, Waiting)
    found = [phase(world, name) for name in sorted(names)]
    assert sorted(each[:2] for each in found) == [("Active", "b"), ("Active", "c"), ("Pending", "")]
    world.set_pod("big", "Succeeded", node="a")
    run(world)
    assert sorted(phase(world, name)[1] for name in names) == ["a", "b", "c"]
    assert run(world).effects == ()


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"nodeName": "absent"}, "node absent does not exist"),
        ({"nodeSelector": {"matchLabels": {"zone": "x"}}}, "nodeSelector matches no node"),
        ({"nodeName": "ill"}, "none of 1 nodes is ready, schedulable, and has room for it"),
        ({"nodeName": "well", "requests": {"cpu": "5"}}, "none of 1 nodes is ready, schedulable, and has room for it"),
    ],
)  # fmt: skip
def test_a_reservation_that_cannot_be_kept_says_why(spec: Json, why: str) -> None:
    world = World()
    node(world, "ill", ready="False")
    node(world, "well")
    name = reserve(world, **spec)
    run(world)
    assert phase(world, name) == ("Pending", "", why)


def test_a_reservation_ends_with_its_time_and_is_removed_later() -> None:
    world = World()
    node(world, "a")
    name = reserve(world)
    decision = run(world)
    assert decision.again_at == NOW + 60
    world.tick(60)
    decision = run(world)
    assert phase(world, name)[0] == "Expired"
    assert decision.again_at == NOW + 60 + EXPIRED_KEPT_SECONDS
    world.tick(EXPIRED_KEPT_SECONDS)
    run(world)
    assert Key(RESERVATIONS.name, NAMESPACE, name) not in world.objects


def test_a_reservation_is_released_and_removed_when_its_owner_is_gone_or_another() -> None:
    world = World()
    node(world, "a")
    name = reserve(world)
    run(world)
    world.delete(DEPLOYMENTS, "web")
    world.add(DEPLOYMENTS, "web", spec={"selector": selector(), "template": template()})
    (effect,) = run(world).effects
    assert isinstance(effect, ChangeStatus)
    assert phase(world, name)[0] == "Released"
    (effect,) = run(world).effects
    assert isinstance(effect, Delete)
    assert run(world).effects == ()


def test_an_allocated_reservation_stays_as_long_as_its_pod() -> None:
    world = World()
    node(world, "a")
    name = reserve(world)
    run(world)
    pod(world, "p", "a")
    uid = world.objects[Key("pods", NAMESPACE, "p")]["metadata"]["uid"]
    used = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid}
    world.edit_status(RESERVATIONS, name, {"phase": "Allocated", "allocatedTo": used})
    run(world)
    assert phase(world, name)[:2] == ("Allocated", "a")
    world.delete(PODS, "p")
    world.stop_pods()
    run(world)
    assert phase(world, name)[0] == "Released"


def test_one_that_is_deleted_while_a_pod_uses_it_says_what_it_has_seen_until_the_pod_is_gone() -> None:
    world = World()
    node(world, "a")
    name = reserve(world)
    run(world)
    pod(world, "p", "a")
    uid = world.objects[Key("pods", NAMESPACE, "p")]["metadata"]["uid"]
    used = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid}
    world.edit(RESERVATIONS, name, {"metadata": {"finalizers": [IN_USE]}})
    world.edit_status(RESERVATIONS, name, {"phase": "Allocated", "allocatedTo": used})
    world.delete(RESERVATIONS, name)
    run(world)
    found = world.objects[Key(RESERVATIONS.name, NAMESPACE, name)]
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"] > 1
    assert (found["status"]["phase"], found["status"]["allocatedTo"]) == ("Allocated", used)
    assert run(world).effects == ()
    world.delete(PODS, "p")
    world.stop_pods()
    run(world)
    assert Key(RESERVATIONS.name, NAMESPACE, name) not in world.objects


def test_one_whose_pod_still_runs_outlives_its_time_and_ends_with_the_pod() -> None:
    """It is what tells that the pod runs on capacity that was lent: it must not go before the pod does."""
    world = World()
    node(world, "a")
    name = reserve(world)
    run(world)
    pod(world, "p", "a")
    uid = world.objects[Key("pods", NAMESPACE, "p")]["metadata"]["uid"]
    used = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid}
    world.edit_status(RESERVATIONS, name, {"phase": "Allocated", "allocatedTo": used})
    world.tick(60 + 2 * EXPIRED_KEPT_SECONDS)
    decision = run(world)
    assert phase(world, name)[:2] == ("Allocated", "a")
    assert decision.again_at == 0.0
    world.set_pod("p", "Failed")
    run(world)
    assert phase(world, name)[0] == "Released"


def test_a_reservation_moves_when_its_node_is_gone() -> None:
    world = World()
    node(world, "a")
    node(world, "b")
    name = reserve(world)
    run(world)
    world.delete(NODES, "a", "")
    run(world)
    assert phase(world, name)[:2] == ("Active", "b")


# Policies


def test_the_policy_that_plane_settings_name_is_active_and_rollback_is_naming_another() -> None:
    world = World()
    for name in ("v3", "v4"):
        world.add(SCHEDULING_POLICIES, name, spec={})
    world.add(PLANE_SETTINGS, "default", spec={"schedulingPolicy": "v4"})

    def active() -> dict[str, tuple[bool, str, str]]:
        world.apply(world.decide(scheduling_policy_decider(), POLICIES).effects)
        found = {name: status(world, SCHEDULING_POLICIES, name, "") for name in ("v3", "v4")}
        return {
            name: (each["active"], each.get("observedBy", ""), each["conditions"][0]["reason"])
            for name, each in found.items()
        }

    idle, used = (False, "", "NotChosen"), (True, "default-scheduler", "InUse")
    assert active() == {"v3": idle, "v4": used}
    world.edit(PLANE_SETTINGS, "default", {"spec": {"schedulingPolicy": "v3"}}, "")
    assert active() == {"v3": used, "v4": idle}
    assert world.decide(scheduling_policy_decider(), POLICIES).effects == ()
    world.delete(PLANE_SETTINGS, "default", "")
    assert active() == {"v3": idle, "v4": idle}


def test_a_policy_that_does_not_exist_is_a_condition_of_the_plane_settings() -> None:
    world = World()
    world.add(PLANE_SETTINGS, "default", spec={"schedulingPolicy": "v5"})
    world.turn(plane_settings_decider(), "default", "")

    def condition() -> tuple[str, str, str]:
        found = status(world, PLANE_SETTINGS, "default", "")["conditions"]
        (each,) = (one for one in found if one["type"] == "SchedulingPolicy")
        return each["status"], each["reason"], each["lastTransitionTime"]

    assert condition() == ("False", "NotFound", timestamp(NOW))
    world.tick(5)
    policy = world.add(SCHEDULING_POLICIES, "v5", spec={})
    view = world.get(SCHEDULING_POLICIES, "", policy["metadata"]["name"])
    keys = tuple(woken(plane_settings_decider(), SCHEDULING_POLICIES.name, None, view))
    assert keys == (Key(PLANE_SETTINGS.name, "", "default"),)
    world.turn(plane_settings_decider(), "default", "")
    assert condition() == ("True", "InUse", timestamp(NOW + 5))

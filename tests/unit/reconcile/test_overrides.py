"""What controllers make of SchedulerOverrides, and what their status says: on the server's own store and admission."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.decision.contract import Refusal, Waiting
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Delete
from fairlead.ledger.override import MADE_FOR
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.reservation import name_for
from fairlead.model.views import (
    DEPLOYMENTS,
    NODES,
    OVERRIDES,
    PLANE_SETTINGS,
    PODS,
    REPLICASETS,
    RESERVATIONS,
    SCHEDULING_POLICIES,
    STATEFULSETS,
    Resource,
)
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.reconcile.deployment.rollout import DESIRED as ROLLOUT_SIZE
from fairlead.reconcile.overrides.capacity import capacity_decider
from fairlead.reconcile.overrides.decider import ENDED_KEPT_SECONDS, override_decider
from fairlead.reconcile.overrides.drain import drain_decider
from fairlead.reconcile.replicaset import replicaset_decider
from fairlead.reconcile.statefulset import statefulset_decider
from tests.unit.reconcile.world import World

RUNS = ("deployment", "replicaset", "scheduler", "statefulset")


def lay_down(world: World, name: str, target: str, lasts: str = "10m", **changes: Any) -> None:
    spec: Json = {"target": target, "reason": "a drill", "expiresAfter": lasts, "changes": changes}
    world.add(OVERRIDES, name, spec=spec)


def workload(image: str = "web:1", replicas: int = 2) -> Json:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    }
    return {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}


def roll(world: World, deciders: tuple[Decider, ...]) -> None:
    """Until nothing happens any more; pods become ready as they come."""
    while world.settle(deciders) + world.start_pods() + world.stop_pods():
        pass


def sizes(world: World) -> list[int]:
    return sorted(each.spec.replicas for each in world.list(REPLICASETS))


def held(world: World) -> list[str]:
    found = world.get(DEPLOYMENTS, "default", "web")
    assert found is not None
    return [each.message for each in found.status.conditions if each.type == "fairlead.dev/Held"]


def test_a_deployment_does_not_grow_while_one_of_two_holds_it_and_lost_pods_are_replaced() -> None:
    world, deciders = World(), (deployment_decider(), replicaset_decider())
    world.add(DEPLOYMENTS, "web", spec=workload())
    world.settle(deciders)
    lay_down(world, "first", "deployment/web", "5m", pauseExpansion=True)
    lay_down(world, "second", "workload/web", "10m", pauseExpansion=True)
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 5}})
    world.settle(deciders)
    assert sizes(world) == [2]
    assert held(world) == ["SchedulerOverride default/first, default/second keeps it at 2 of 5 replicas"]
    world.delete(OVERRIDES, "first")
    world.vanish(Key(PODS.name, "default", world.list(PODS)[0].metadata.name))
    world.settle(deciders)
    assert (sizes(world), len(world.list(PODS))) == ([2], 2)
    decision = world.turn(deciders[0], "web")
    assert decision.verdict == Waiting(
        "HeldByOverride", "SchedulerOverride default/second keeps it at 2 of 5 replicas"
    )
    assert decision.again_at == world.now + 600
    world.tick(600)
    world.settle(deciders)
    assert (sizes(world), held(world)) == ([5], [])


def test_a_rollout_waits_and_what_is_missing_is_made_of_the_old_template() -> None:
    world, deciders = World(), (deployment_decider(), replicaset_decider())
    world.add(DEPLOYMENTS, "web", spec=workload())
    roll(world, deciders)
    lay_down(world, "calm", "namespace", pauseRollout=True)
    world.edit(DEPLOYMENTS, "web", {"spec": workload("web:2")})
    roll(world, deciders)
    assert sizes(world) == [2]
    assert held(world) == ["SchedulerOverride default/calm pauses its rollout"]
    world.tick(600)
    roll(world, deciders)
    assert sizes(world) == [0, 2]


def test_an_override_that_ends_while_a_set_is_refused_is_told_as_ended() -> None:
    world, decider = World(), deployment_decider()
    world.add(DEPLOYMENTS, "web", spec=workload())
    roll(world, (decider, replicaset_decider()))
    lay_down(world, "calm", "namespace", pauseExpansion=True)
    world.edit(DEPLOYMENTS, "web", {"spec": workload("web:2", replicas=5)})
    (create,) = world.turn(decider, "web").effects
    refusal, key = Refusal(create, "exceeded quota: a0"), Key(DEPLOYMENTS.name, "default", "web")
    assert decider.refused is not None
    world.apply(decider.refused(world, key, refusal, world.now).effects)
    assert held(world) == ["SchedulerOverride default/calm keeps it at 2 of 5 replicas"]
    world.tick(600)
    world.apply(decider.refused(world, key, refusal, world.now).effects)
    assert held(world) == []


def test_the_rollout_of_a_statefulset_waits_too() -> None:
    world, decider = World(), statefulset_decider()
    world.add(STATEFULSETS, "web", spec={**workload(), "serviceName": "web"})
    roll(world, (decider,))
    lay_down(world, "calm", "statefulset/web", pauseRollout=True)
    world.edit(STATEFULSETS, "web", {"spec": workload("web:2")})
    roll(world, (decider,))
    assert not any(each.metadata.deletion_timestamp for each in world.list(PODS))


def test_what_is_made_while_its_namespace_does_not_grow_stays_empty() -> None:
    world, deciders = World(), (deployment_decider(), replicaset_decider())
    lay_down(world, "calm", "namespace", pauseExpansion=True)
    world.add(DEPLOYMENTS, "web", spec=workload())
    world.settle(deciders)
    assert sizes(world) == [0]


def remade(world: World, resource: Resource[Any], decider: Decider, **spec: Any) -> None:
    """Its pods stay when it is deleted, and one of the same name is made while nothing is to grow."""
    world.add(resource, "web", spec={**workload(), **spec})
    roll(world, (decider, replicaset_decider()))
    lay_down(world, "calm", "namespace", pauseExpansion=True)
    world.delete(resource, "web", policy="Orphan")
    world.collect_garbage()
    world.add(resource, "web", spec={**workload(replicas=3), **spec})
    roll(world, (decider, replicaset_decider()))


def test_a_replicaset_that_is_made_anew_keeps_what_it_adopts_and_gets_no_more() -> None:
    world = World()
    remade(world, REPLICASETS, replicaset_decider())
    assert [each.metadata.deletion_timestamp for each in world.list(PODS)] == ["", ""]
    assert all(each.metadata.controller is not None for each in world.list(PODS))


def test_a_statefulset_that_is_made_anew_keeps_what_it_adopts_and_gets_no_more() -> None:
    world = World()
    remade(world, STATEFULSETS, statefulset_decider(), serviceName="web")
    names = [(each.metadata.name, each.metadata.deletion_timestamp) for each in world.list(PODS)]
    assert names == [("web-0", ""), ("web-1", "")]


def test_a_deployment_that_is_made_anew_keeps_what_it_adopts_and_gets_no_more() -> None:
    world = World()
    remade(world, DEPLOYMENTS, deployment_decider())
    assert (sizes(world), len(world.list(PODS))) == ([2], 2)
    assert held(world) == ["SchedulerOverride default/calm keeps it at 2 of 3 replicas"]
    world.edit(DEPLOYMENTS, "web", {"spec": workload("web:2", replicas=3)})
    roll(world, (deployment_decider(), replicaset_decider()))
    assert sizes(world) == [0, 2]  # what a rollout makes for a while is not kept beside the rest


@pytest.mark.parametrize(
    ("resource", "decider", "more"),
    [
        (REPLICASETS, replicaset_decider(), {}),
        (STATEFULSETS, statefulset_decider(), {"serviceName": "web"}),
        (DEPLOYMENTS, deployment_decider(), {}),
    ],
    ids=["ReplicaSet", "StatefulSet", "Deployment"],
)
def test_what_grew_before_the_plane_heard_of_an_override_keeps_what_it_got_and_gets_no_more(
    resource: Resource[Any], decider: Decider, more: Json
) -> None:
    world = World()
    world.add(resource, "web", spec={**workload(replicas=3), **more})
    roll(world, (decider, replicaset_decider()))
    lay_down(world, "calm", "workload/web", pauseExpansion=True)
    world.overwrite(Key(OVERRIDES.name, "default", "calm"), _noted_as_two)
    world.edit(resource, "web", {"spec": {"replicas": 4}})
    roll(world, (decider, replicaset_decider()))
    assert [each.metadata.deletion_timestamp for each in world.list(PODS)] == ["", "", ""]


@pytest.mark.parametrize(
    "strategy",
    [
        {},
        {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 2}},
        {"type": "Recreate"},
    ],
    ids=["usual", "without a surge", "Recreate"],
)
def test_a_rollout_takes_nothing_away_of_what_grew_before_the_plane_heard_of_an_override(
    strategy: Json,
) -> None:
    """It makes fewer for a while, or none: what the Deployment keeps is what its sets were given before."""
    world, deciders = World(), (deployment_decider(), replicaset_decider())
    world.add(DEPLOYMENTS, "web", spec={**workload(replicas=10), "strategy": strategy})
    roll(world, deciders)
    lay_down(world, "calm", "workload/web", pauseExpansion=True)
    world.overwrite(Key(OVERRIDES.name, "default", "calm"), _noted_as_two)
    world.edit(DEPLOYMENTS, "web", {"spec": workload("web:2", replicas=12)})
    roll(world, deciders)
    assert sizes(world) == [0, 10]
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
    roll(world, deciders)
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 12}})
    roll(world, deciders)
    assert sizes(world) == [0, 2]  # as it was noted: it has given up the rest


def test_who_writes_the_note_of_a_set_lifts_no_pause() -> None:
    world, deciders = World(), (deployment_decider(), replicaset_decider())
    world.add(DEPLOYMENTS, "web", spec=workload(replicas=3))
    roll(world, deciders)
    lay_down(world, "calm", "workload/web", pauseExpansion=True)
    (own,) = world.list(REPLICASETS)
    note = {"metadata": {"annotations": {ROLLOUT_SIZE: "100"}}}
    world.edit(REPLICASETS, own.metadata.name, note)
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 10}})
    roll(world, deciders)
    assert sizes(world) == [3]


def _noted_as_two(override: Json) -> None:
    override["status"]["held"][0]["replicas"] = 2


def conditions(world: World, name: str = "calm") -> dict[str, str]:
    found = world.get(OVERRIDES, "default", name)
    assert found is not None
    return {each.type: each.status for each in found.status.conditions}


def test_it_is_observed_once_every_controller_that_it_concerns_runs_here() -> None:
    world = World()
    world.add(DEPLOYMENTS, "web", spec=workload())
    lay_down(world, "calm", "deployment/web", pauseRollout=True, avoidZones=["a"])
    world.settle((override_decider(("scheduler",)),))
    assert conditions(world) == {
        "observed.fairlead.dev/deployment": "False",
        "observed.fairlead.dev/scheduler": "True",
        "SchedulerOverrideObserved": "False",
    }
    world.settle((override_decider(RUNS),))
    assert set(conditions(world).values()) == {"True"}


def test_after_its_end_it_says_so_and_goes_a_day_later() -> None:
    world, decider = World(), override_decider(RUNS)
    world.add(DEPLOYMENTS, "web", spec=workload())
    lay_down(world, "calm", "deployment/web", pauseRollout=True)
    world.settle((decider,))
    world.tick(595)
    decision = world.turn(decider, "calm")
    assert [each.reason for each in decision.events] == ["OverrideEndsSoon"]
    world.tick(5)
    world.settle((decider,))
    assert (conditions(world)["SchedulerOverrideObserved"], conditions(world)["Residue"]) == (
        "False",
        "False",
    )
    world.tick(ENDED_KEPT_SECONDS)
    world.settle((decider,))
    assert not world.list(OVERRIDES)


def test_a_drain_evicts_what_somebody_would_make_again_and_only_before_its_end() -> None:
    world, decider = World(), drain_decider()
    world.add(NODES, "n1", metadata={"labels": {"topology.kubernetes.io/zone": "a"}})
    world.add(NODES, "n2")
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n1"}
    world.add(PODS, "kept", spec=spec)
    world.add(PODS, "moved", spec=spec, metadata={"ownerReferences": [owner]})
    world.add(PODS, "elsewhere", spec={**spec, "nodeName": "n2"}, metadata={"ownerReferences": [owner]})
    drain: Json = {"target": "zone/a", "reason": "power", "expiresAfter": "1m", "changes": {"drain": True}}
    world.add(OVERRIDES, "empty", "kube-system", spec=drain)
    found = world.get(OVERRIDES, "kube-system", "empty")
    assert found is not None
    assert found.spec.approval, "one of two nodes is more than a third"
    assert not world.decide(decider, Key(PODS.name, "default", "moved")).effects
    approved = {"conditions": [{"type": "Approved", "status": "True"}]}
    world.edit_status(OVERRIDES, "empty", approved, "kube-system")
    (evict,) = world.decide(decider, Key(PODS.name, "default", "moved")).effects
    assert isinstance(evict, Delete)
    assert evict.evicts
    assert evict.premises[0].until == world.now + 60
    assert not world.decide(decider, Key(PODS.name, "default", "kept")).effects
    assert not world.decide(decider, Key(PODS.name, "default", "elsewhere")).effects
    world.tick(60)
    assert not world.decide(decider, Key(PODS.name, "default", "moved")).effects


def test_one_that_is_removed_does_not_take_with_it_what_it_left() -> None:
    world, decider = World(), override_decider(RUNS)
    world.add(DEPLOYMENTS, "web", spec=workload())
    lay_down(world, "lend", "deployment/web", allowReservedCapacityClass="recovery")
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u-1"}
    spec = {
        "owner": owner,
        "intent": "lent",
        "capacityClass": "recovery",
        "requests": {"cpu": "1"},
        "ttlSeconds": 600,
        "nodeName": "n1",
    }
    name = name_for("u-1", "lent")
    world.add(RESERVATIONS, name, metadata={"annotations": {MADE_FOR: "default/lend"}}, spec=spec)
    world.delete(OVERRIDES, "lend")
    decision = world.turn(decider, "lend")
    assert decision.verdict == Waiting("Residue", f"reservation default/{name} is Pending")
    (told,) = decision.events
    assert (told.reason, told.type) == ("OverrideRemoved", "Warning")
    assert told.message == f"it was removed; 1 left: reservation default/{name} is Pending"
    world.edit_status(RESERVATIONS, name, {"phase": "Released"})
    (told,) = world.turn(decider, "lend").events
    assert (told.type, told.message) == ("Normal", "it was removed; nothing is left")


def test_one_that_is_removed_and_had_made_nothing_is_not_talked_of() -> None:
    world, decider = World(), override_decider(RUNS)
    world.add(DEPLOYMENTS, "web", spec=workload())
    lay_down(world, "calm", "deployment/web", pauseRollout=True)
    world.delete(OVERRIDES, "calm")
    assert not world.turn(decider, "calm").events


def test_a_pod_that_has_its_reservation_gets_no_second_one_while_it_is_still_shown_as_waiting() -> None:
    world, decider = World(), capacity_decider()
    class_ = {"name": "recovery", "nodeSelector": {"matchLabels": {"tier": "recovery"}}}
    world.add(SCHEDULING_POLICIES, "classes", spec={"capacityClasses": [class_]})
    world.add(PLANE_SETTINGS, "default", spec={"schedulingPolicy": "classes"})
    world.add(REPLICASETS, "web", spec=workload(replicas=1))
    world.settle((replicaset_decider(),))
    (pod,) = world.list(PODS)
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    world.edit_status(PODS, pod.metadata.name, {"conditions": [refused]})
    lay_down(world, "lend", "workload/web", allowReservedCapacityClass="recovery", reservedReplicas=2)
    world.settle((decider,))
    (made,) = world.list(RESERVATIONS)
    used = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid}
    status = {"phase": "Allocated", "nodeName": "node-0", "allocatedTo": used}
    world.edit_status(RESERVATIONS, made.metadata.name, status)
    world.settle((decider,))
    assert len(world.list(RESERVATIONS)) == 1

"""The PodDisruptionBudget controller: what is allowed, on what evidence, and what evictions take from it."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX
from fairlead.ledger import disruption
from fairlead.model.key import Key
from fairlead.model.views import (
    BUDGETS,
    DAEMONSETS,
    DEPLOYMENTS,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    DisruptionBudget,
)
from fairlead.reconcile.disruption_budget import budget_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import NOW, Refused, World, selector, template

DECIDER = budget_decider()
KEY = Key("poddisruptionbudgets.policy", "default", "web")
Json = dict[str, Any]


def reference(kind: str, owner: Json) -> list[Json]:
    meta = owner["metadata"]
    return [
        {"apiVersion": "apps/v1", "kind": kind, "name": meta["name"], "uid": meta["uid"], "controller": True}
    ]


def deployed(world: World, replicas: int = 4, ready: int = 4) -> None:
    """A Deployment, its ReplicaSet and its pods, so many of them ready."""
    spec = {"selector": selector(), "template": template(), "replicas": replicas}
    deployment = world.add(DEPLOYMENTS, "web", spec=spec)
    owners = reference("Deployment", deployment)
    # What the set is scaled to does not count where a Deployment is in charge.
    owner = world.add(
        REPLICASETS, "web-1", metadata={"ownerReferences": owners}, spec={**spec, "replicas": 1}
    )
    for number in range(replicas):
        pod(world, f"p{number}", ready=number < ready, owners=reference("ReplicaSet", owner))


def pod(world: World, name: str, *, ready: bool = True, owners: list[Json] | None = None) -> None:
    metadata = {"labels": {"app": "web"}, "ownerReferences": owners or []}
    world.add(PODS, name, metadata=metadata, spec=template()["spec"])
    world.set_pod(name, "Running", ready=ready)


def budget(world: World, **spec: Any) -> None:
    world.add(BUDGETS, "web", spec={"selector": selector(), **spec})


def settled(world: World) -> DisruptionBudget:
    world.settle([DECIDER])
    found = world.get(BUDGETS, "default", "web")
    assert found is not None
    return found


def condition(found: DisruptionBudget) -> tuple[str, str]:
    (only,) = found.status.conditions
    return only.status, only.reason


@pytest.mark.parametrize(
    ("spec", "ready", "figures"),
    [
        # expected, desired, healthy, allowed
        ({"maxUnavailable": 1}, 4, (4, 3, 4, 1)),
        ({"maxUnavailable": 1}, 3, (4, 3, 3, 0)),
        ({"maxUnavailable": 1}, 1, (4, 3, 1, 0)),
        ({"maxUnavailable": "30%"}, 4, (4, 2, 4, 2)),
        ({"maxUnavailable": "100%"}, 4, (4, 0, 4, 4)),
        ({"maxUnavailable": 9}, 4, (4, 0, 4, 4)),
        ({"minAvailable": 3}, 4, (4, 3, 4, 1)),
        ({"minAvailable": 4}, 4, (4, 4, 4, 0)),
        ({"minAvailable": "60%"}, 4, (4, 3, 4, 1)),
        ({"minAvailable": 0}, 2, (4, 0, 2, 2)),
        ({}, 4, (0, 0, 4, 0)),
    ],
)
def test_what_is_allowed(spec: Json, ready: int, figures: tuple[int, int, int, int]) -> None:
    world = World()
    deployed(world, ready=ready)
    budget(world, **spec)
    found = settled(world)
    status = found.status
    assert (
        status.expected_pods,
        status.desired_healthy,
        status.current_healthy,
        status.disruptions_allowed,
    ) == figures
    assert status.observed_generation == 1
    expected = ("True", "SufficientPods") if figures[3] else ("False", "InsufficientPods")
    assert condition(found) == expected


def test_pods_that_are_missing_count_as_unavailable() -> None:
    world = World()
    deployed(world)
    budget(world, maxUnavailable=1)
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 6}})
    status = settled(world).status
    assert (status.expected_pods, status.desired_healthy, status.disruptions_allowed) == (6, 5, 0)


def test_sets_of_their_own_and_stateful_ones_are_asked_too_each_once() -> None:
    world = World()
    spec = {"selector": selector(), "template": template()}
    alone = world.add(REPLICASETS, "alone", spec={**spec, "replicas": 2})
    stateful = world.add(STATEFULSETS, "db", spec={**spec, "replicas": 3, "serviceName": "db"})
    for number in range(2):
        pod(world, f"a{number}", owners=reference("ReplicaSet", alone))
        pod(world, f"s{number}", owners=reference("StatefulSet", stateful))
    pod(world, "lonely")
    budget(world, maxUnavailable=1)
    status = settled(world).status
    assert (status.expected_pods, status.current_healthy, status.disruptions_allowed) == (5, 5, 1)


def test_where_the_scale_is_unknown_nothing_is_allowed() -> None:
    world = World()
    deployed(world)
    budget(world, maxUnavailable=1)
    assert settled(world).status.disruptions_allowed == 1
    world.delete(DEPLOYMENTS, "web")
    found = settled(world)
    assert found.status.disruptions_allowed == 0
    assert condition(found) == ("False", "SyncFailed")
    assert "Deployment web was not found" in found.status.conditions[0].message


def test_an_owner_without_a_scale_is_said_so() -> None:
    world = World()
    daemons = world.add(DAEMONSETS, "log", spec={"selector": selector(), "template": template()})
    pod(world, "d0", owners=reference("DaemonSet", daemons))
    budget(world, maxUnavailable=1)
    assert condition(settled(world)) == ("False", "SyncFailed")
    world.edit(BUDGETS, "web", {"spec": {"maxUnavailable": None, "minAvailable": 0}})
    assert settled(world).status.disruptions_allowed == 1


def test_a_failed_look_does_not_claim_to_have_seen_the_new_generation() -> None:
    world = World()
    deployed(world)
    budget(world, maxUnavailable=1)
    settled(world)
    world.delete(REPLICASETS, "web-1")
    world.edit(BUDGETS, "web", {"spec": {"maxUnavailable": 2}})
    assert settled(world).status.observed_generation == 1


def evict(world: World, name: str) -> None:
    """The eviction's own write, without the pod's deletion being seen yet."""
    charged = disruption.charge(world.objects[KEY], name, world.now)
    world.edit_status(BUDGETS, "web", charged["status"])


def test_an_evicted_pod_is_not_healthy_even_before_its_deletion_is_seen() -> None:
    world = World()
    deployed(world)
    budget(world, maxUnavailable=2)
    settled(world)
    evict(world, "p0")
    found = settled(world)
    assert (found.status.current_healthy, found.status.disruptions_allowed) == (3, 1)
    assert found.status.disrupted_pods == {"p0": timestamp(NOW)}
    world.delete(PODS, "p0")
    found = settled(world)
    assert (found.status.current_healthy, found.status.disruptions_allowed) == (3, 1)
    assert found.status.disrupted_pods == {}


def test_an_eviction_between_deciding_and_writing_is_not_overwritten() -> None:
    world = World()
    deployed(world, ready=3)
    budget(world, maxUnavailable=2)
    settled(world)
    world.set_pod("p3", "Running", ready=True)
    decided = world.decide(DECIDER, KEY)
    evict(world, "p0")
    with pytest.raises(Refused, match="Conflict"):
        world.apply(decided.effects)
    assert settled(world).status.disruptions_allowed == 1


def test_an_eviction_that_came_to_nothing_is_forgotten_after_two_minutes() -> None:
    world = World()
    deployed(world)
    budget(world, maxUnavailable=1)
    settled(world)
    evict(world, "p0")
    settled(world)
    assert world.decide(DECIDER, KEY).again_at == NOW + 120
    world.tick(119)
    assert settled(world).status.disruptions_allowed == 0
    world.tick(1)
    found = settled(world)
    assert (found.status.disruptions_allowed, found.status.disrupted_pods) == (1, {})


def test_a_new_pod_under_the_name_of_an_evicted_one_is_another_pod() -> None:
    world = World()
    deployed(world)
    budget(world, minAvailable=1)
    settled(world)
    evict(world, "p0")
    world.delete(PODS, "p0")
    world.stop_pods()
    world.tick(5)
    pod(world, "p0")
    found = settled(world)
    assert (found.status.current_healthy, found.status.disrupted_pods) == (4, {})


def test_the_condition_keeps_the_time_of_its_change() -> None:
    world = World()
    deployed(world)
    budget(world, maxUnavailable=2)
    settled(world)
    world.tick(60)
    world.set_pod("p0", "Running", ready=False)
    assert settled(world).status.conditions[0].last_transition_time == timestamp(NOW)
    world.set_pod("p1", "Running", ready=False)
    assert settled(world).status.conditions[0].last_transition_time == timestamp(NOW + 60)


def test_a_selector_that_is_missing_covers_nobody_and_an_empty_one_all() -> None:
    world = World()
    deployed(world)
    world.add(BUDGETS, "web", spec={"minAvailable": 0})
    assert settled(world).status.expected_pods == 0
    world.edit(BUDGETS, "web", {"spec": {"selector": {}}})
    assert settled(world).status.expected_pods == 4


def test_a_settled_budget_is_not_written_again() -> None:
    world = World()
    deployed(world)
    budget(world, maxUnavailable=1)
    settled(world)
    writes = len(world.writes)
    world.tick(1000)
    settled(world)
    assert len(world.writes) == writes


def test_pods_and_owners_wake_the_namespace_and_its_turn_looks_at_every_budget() -> None:
    world = World()
    deployed(world)
    everyone = Key("poddisruptionbudgets.policy", "default", "")
    assert tuple(woken(DECIDER, "pods", None, world.list(PODS)[0])) == (everyone,)
    assert tuple(woken(DECIDER, "deployments.apps", None, world.list(DEPLOYMENTS)[0])) == (everyone,)
    for number in range(EFFECTS_MAX + 1):
        world.add(BUDGETS, f"b{number:02}", spec={"selector": selector(), "minAvailable": 1})
    (own, everywhere), budget = (
        woken(DECIDER, BUDGETS.name, None, world.list(BUDGETS)[0]),
        world.list(BUDGETS)[0],
    )
    assert (own, everywhere) == (everyone._replace(name="b00"), everyone._replace(namespace=""))
    assert tuple(woken(DECIDER, BUDGETS.name, budget, budget)) == (own,)
    first = world.decide(DECIDER, everyone)
    assert (len(first.effects), first.again_at) == (EFFECTS_MAX, NOW)
    world.apply(first.effects)
    second = world.decide(DECIDER, everyone)
    assert (len(second.effects), second.again_at) == (1, 0)

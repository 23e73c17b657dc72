"""Deployment: rollouts step by step, scaling, pausing, history, conditions."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.decision.contract import NOTHING, SETTLED, Refusal
from fairlead.decision.effects import ChangeStatus, Create
from fairlead.model.key import Key
from fairlead.model.marks import AT_MOST_ONE, RELEASED
from fairlead.model.reasons import WAITING_FOR
from fairlead.model.views import DEPLOYMENTS, PODS, REPLICASETS
from fairlead.reconcile.deployment.history import is_same_template, template_hash
from tests.unit.reconcile.deployment.deploying import (
    BOTH,
    DEPLOYMENT,
    KEY,
    REVISION,
    condition,
    deployed,
    deployment,
    finish,
    live,
    of_image,
    rolling,
    running,
    set_image,
    sizes,
)
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import World, template

HISTORY = "deployment.kubernetes.io/revision-history"


def step(world: World) -> dict[str, int]:
    """Controllers run until they wait for pods; then stopping pods are gone and all others ready."""
    world.settle(BOTH)
    seen = sizes(world)
    world.stop_pods()
    world.start_pods()
    world.tick(1)
    return seen


def test_the_first_set_is_named_after_its_template_and_selects_only_its_own() -> None:
    world = running(2, "v1")
    found = of_image(world, "v1")
    label = found.metadata.labels["pod-template-hash"]
    assert found.metadata.name == f"web-{label}"
    assert found.spec.selector["matchLabels"] == {"app": "web", "pod-template-hash": label}
    assert found.metadata.annotations[REVISION] == "1"
    assert deployment(world).metadata.annotations[REVISION] == "1"
    assert all(pod.metadata.labels["pod-template-hash"] == label for pod in world.list(PODS))


def test_a_complete_rollout_is_settled_and_its_status_says_so() -> None:
    world = running(2)
    status = world.objects[KEY]["status"]
    assert {key: value for key, value in status.items() if key != "conditions"} == {
        "observedGeneration": 1,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
    }
    assert condition(world, "Available")["reason"] == "MinimumReplicasAvailable"
    assert condition(world, "Progressing")["reason"] == "NewReplicaSetAvailable"
    assert world.decide(DEPLOYMENT, KEY).verdict == SETTLED
    world.tick(86400)
    assert world.settle(BOTH) == 0


@pytest.mark.parametrize(
    ("replicas", "strategy", "expected"),
    [
        (3, rolling(1, 0), [(3, 1), (2, 2), (1, 3), (0, 3)]),
        (3, rolling(0, 1), [(2, 1), (1, 2), (0, 3)]),
        (4, rolling("25%", "25%"), [(3, 2), (1, 4), (0, 4)]),
        (4, rolling("100%", 0), [(4, 4), (0, 4)]),
        (2, rolling(0, "100%"), [(0, 2)]),
        (2, rolling("0%", "10%"), [(1, 1), (0, 2)]),
    ],
)
def test_a_rolling_update_goes_as_far_as_surge_and_unavailable_allow(
    replicas: int, strategy: Any, expected: list[tuple[int, int]]
) -> None:
    world = running(replicas, "v1", strategy=strategy)
    set_image(world, "v2")
    seen = []
    for _ in expected:
        now = step(world)
        seen.append((now["v1"], now["v2"]))
    assert seen == expected
    finish(world)
    assert sizes(world) == {"v1": 0, "v2": replicas}


def test_a_rollout_whose_pods_never_become_ready_keeps_the_old_ones() -> None:
    world = running(4, "v1", strategy=rolling(1, 1))
    set_image(world, "v2")
    for _ in range(10):
        world.settle(BOTH)
        world.stop_pods()
        world.tick(1)
    assert sizes(world) == {"v1": 3, "v2": 2}
    assert deployment(world).status.available_replicas == 3


def test_old_pods_that_are_not_available_make_room_first() -> None:
    world = running(4, "v1", strategy=rolling(0, 1))
    broken = [pod.metadata.name for pod in world.list(PODS)][:2]
    for name in broken:
        world.set_pod(name, "Running", ready=False)
    world.settle(BOTH)
    set_image(world, "v2")
    world.settle(BOTH)
    assert sizes(world) == {"v1": 3, "v2": 1}
    assert sum(pod.ready for pod in world.list(PODS) if pod.live) == 2


def test_recreate_waits_until_the_last_old_pod_is_gone() -> None:
    world = running(2, "v1", strategy={"type": "Recreate"})
    set_image(world, "v2")
    world.settle(BOTH)
    assert sizes(world) == {"v1": 0}
    assert (len(world.list(PODS)), live(world)) == (2, 0)
    world.stop_pods()
    world.settle(BOTH)
    assert sizes(world) == {"v1": 0, "v2": 2}
    finish(world)
    assert condition(world, "Progressing")["reason"] == "NewReplicaSetAvailable"


def test_recreate_waits_for_no_pod_that_has_surely_ended_on_its_silent_node() -> None:
    once = template(image="v1")
    once["metadata"]["annotations"] = {AT_MOST_ONE: "true"}
    world = running(2, "v1", strategy={"type": "Recreate"}, template=once)
    kept, ended = (pod.metadata.name for pod in world.list(PODS))
    set_image(world, "v2")
    world.settle(BOTH)
    world.vanish(Key(PODS.name, "default", kept))
    world.settle(BOTH)
    assert sizes(world) == {"v1": 0}
    released = {"type": RELEASED, "status": "True", "reason": "NodeFenced"}
    lost = {"type": "Ready", "status": "Unknown", "reason": "NodeUnknown"}
    world.edit_status(PODS, ended, {"conditions": [lost]})
    (silent,) = world.list(PODS)
    world.edit_status(PODS, ended, {"conditions": [lost, released]})
    assert tuple(woken(DEPLOYMENT, "pods", silent, *world.list(PODS))) == (KEY,)
    world.settle(BOTH)
    assert sizes(world) == {"v1": 0, "v2": 2}


def test_recreate_waits_for_a_released_pod_of_which_more_than_one_may_run() -> None:
    world = running(1, "v1", strategy={"type": "Recreate"})
    (pod,) = world.list(PODS)
    set_image(world, "v2")
    world.settle(BOTH)
    released = {"type": RELEASED, "status": "True", "reason": "NodeSilent"}
    world.edit_status(PODS, pod.metadata.name, {"conditions": [released]})
    world.settle(BOTH)
    assert sizes(world) == {"v1": 0}


def test_min_ready_seconds_hold_the_rollout_back_and_reach_the_new_set() -> None:
    world = running(2, "v1", strategy=rolling(1, 0), minReadySeconds=20)
    world.tick(30)
    world.settle(BOTH)
    set_image(world, "v2")
    world.settle(BOTH)
    world.start_pods()
    world.settle(BOTH)
    assert sizes(world) == {"v1": 2, "v2": 1}
    world.tick(20)
    world.settle(BOTH)
    assert sizes(world) == {"v1": 1, "v2": 2}
    world.edit(DEPLOYMENTS, "web", {"spec": {"minReadySeconds": 0}})
    finish(world)
    assert of_image(world, "v2").spec.min_ready_seconds == 0


def test_a_paused_deployment_does_not_roll_out_and_does_when_resumed() -> None:
    world = running(2)
    world.edit(DEPLOYMENTS, "web", {"spec": {"paused": True}})
    set_image(world, "v2")
    world.settle(BOTH)
    assert sizes(world) == {"v1": 2}
    assert condition(world, "Progressing")["reason"] == "DeploymentPaused"
    assert deployment(world).status.observed_generation == 3
    world.edit(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    finish(world)
    assert sizes(world) == {"v1": 0, "v2": 2}


def test_a_paused_deployment_still_scales() -> None:
    world = running(2)
    world.edit(DEPLOYMENTS, "web", {"spec": {"paused": True, "replicas": 5}})
    world.settle(BOTH)
    assert sizes(world) == {"v1": 5}
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 1}})
    finish(world)
    assert (sizes(world), live(world)) == ({"v1": 1}, 1)


@pytest.mark.parametrize("replicas", [0, 1, 7])
def test_scaling_changes_the_only_set_and_leaves_the_rollout_complete(replicas: int) -> None:
    world = running(3)
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}})
    finish(world)
    assert (sizes(world), live(world)) == ({"v1": replicas}, replicas)
    assert condition(world, "Progressing")["reason"] == "NewReplicaSetAvailable"
    assert deployment(world).metadata.annotations[REVISION] == "1"


def test_scaling_in_the_middle_of_a_rollout_is_shared_in_proportion() -> None:
    world = running(10, "v1", strategy=rolling(3, 2))
    set_image(world, "v2")
    world.settle(BOTH)
    assert sizes(world) == {"v1": 8, "v2": 5}
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 15}})
    world.turn(DEPLOYMENT, "web")
    assert sizes(world) == {"v1": 11, "v2": 7}
    finish(world)
    assert sizes(world) == {"v1": 0, "v2": 15}


def test_a_new_template_and_a_new_size_at_once_end_as_both_say() -> None:
    world = running(2)
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 5}})
    set_image(world, "v2")
    finish(world)
    assert sizes(world) == {"v1": 0, "v2": 5}


def test_going_back_finds_the_set_of_then_and_gives_it_the_next_revision() -> None:
    world = running(2, "v1")
    first = of_image(world, "v1").metadata.uid
    set_image(world, "v2")
    finish(world)
    assert deployment(world).metadata.annotations[REVISION] == "2"
    set_image(world, "v1")
    world.turn(DEPLOYMENT, "web")
    finish(world)
    back = of_image(world, "v1")
    assert (back.metadata.uid, sizes(world)) == (first, {"v1": 2, "v2": 0})
    assert back.metadata.annotations[REVISION] == "3"
    assert back.metadata.annotations[HISTORY] == "1"
    assert deployment(world).metadata.annotations[REVISION] == "3"


def test_going_back_in_the_middle_of_a_rollout_that_cannot_succeed_restores_the_old_pods() -> None:
    world = running(3, "v1", strategy=rolling(1, 1))
    set_image(world, "broken")
    world.settle(BOTH)
    world.stop_pods()
    assert sizes(world) == {"v1": 2, "broken": 2}
    set_image(world, "v1")
    finish(world)
    assert (sizes(world), live(world)) == ({"v1": 3, "broken": 0}, 3)


def test_a_third_template_in_the_middle_of_a_rollout_replaces_both() -> None:
    world = running(4, "v1", strategy=rolling(1, 1))
    set_image(world, "v2")
    world.settle(BOTH)
    set_image(world, "v3")
    finish(world)
    assert sizes(world) == {"v1": 0, "v2": 0, "v3": 4}


@pytest.mark.parametrize(("limit", "kept"), [(0, ["v4"]), (1, ["v3", "v4"]), (10, ["v1", "v2", "v3", "v4"])])
def test_revisions_beyond_the_history_limit_are_forgotten_earliest_first(limit: int, kept: list[str]) -> None:
    world = running(1, "v1", revisionHistoryLimit=limit)
    for image in ("v2", "v3", "v4"):
        set_image(world, image)
        finish(world)
    assert sorted(sizes(world)) == kept


def test_a_cause_of_change_is_kept_with_its_revision() -> None:
    world = running(1, "v1")
    cause = {
        "kubernetes.io/change-cause": "new image",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    world.edit(DEPLOYMENTS, "web", {"metadata": {"annotations": cause}})
    set_image(world, "v2")
    finish(world)
    annotations = of_image(world, "v2").metadata.annotations
    assert annotations["kubernetes.io/change-cause"] == "new image"
    assert "kubectl.kubernetes.io/last-applied-configuration" not in annotations


def test_a_foreign_object_under_the_new_name_is_a_collision_and_gives_another_name() -> None:
    world = deployed(1)
    (create,) = world.decide(DEPLOYMENT, KEY).effects
    assert isinstance(create, Create)
    labels = {"app": "other"}
    world.add(
        REPLICASETS,
        create.name,
        spec={"selector": {"matchLabels": labels}, "template": template(labels), "replicas": 0},
    )
    finish(world)
    assert deployment(world).status.collision_count == 1
    (own,) = world.owned(REPLICASETS, deployment(world).metadata.uid)
    assert own.metadata.name != create.name
    assert live(world) == 1


def test_without_progress_for_the_deadline_the_rollout_is_late_and_recovers_when_pods_become_ready() -> None:
    world = deployed(1, progressDeadlineSeconds=60)
    world.settle(BOTH)
    assert condition(world, "Progressing")["reason"] == "NewReplicaSetCreated"
    again_at = world.decide(DEPLOYMENT, KEY).again_at
    assert again_at == world.now + 61
    world.tick(60)
    assert world.settle(BOTH) == 0
    world.now = again_at
    world.settle(BOTH)
    late = condition(world, "Progressing")
    assert (late["status"], late["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert condition(world, "Available")["status"] == "False"
    world.tick(1000)
    assert world.settle(BOTH) == 0
    world.start_pods()
    world.settle(BOTH)
    assert condition(world, "Progressing")["reason"] == "NewReplicaSetAvailable"


def test_progress_starts_the_deadline_anew() -> None:
    world = deployed(2, progressDeadlineSeconds=60)
    world.settle(BOTH)
    world.tick(50)
    first = world.list(PODS)[0].metadata.name
    world.set_pod(first, "Running", ready=True)
    world.settle(BOTH)
    assert condition(world, "Progressing")["reason"] == "ReplicaSetUpdated"
    assert world.decide(DEPLOYMENT, KEY).again_at == world.now + 61


def test_pods_that_break_after_a_rollout_do_not_make_it_late() -> None:
    world = running(1, progressDeadlineSeconds=60)
    world.set_pod(world.list(PODS)[0].metadata.name, "Running", ready=False)
    world.settle(BOTH)
    world.tick(1000)
    world.settle(BOTH)
    assert condition(world, "Progressing")["reason"] == "NewReplicaSetAvailable"
    assert condition(world, "Available")["reason"] == "MinimumReplicasUnavailable"


def test_what_keeps_a_set_from_making_pods_is_shown_on_the_deployment() -> None:
    world = deployed(1)
    world.settle([DEPLOYMENT])
    name = of_image(world, "v1").metadata.name
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no quota"}
    world.edit_status(REPLICASETS, name, {"replicas": 0, "conditions": [failure]})
    world.settle([DEPLOYMENT])
    assert condition(world, "ReplicaFailure")["message"] == "no quota"
    finish(world)
    assert condition(world, "ReplicaFailure") is None


def test_a_refusal_to_create_the_set_is_reported() -> None:
    world = deployed(1)
    (create,) = world.decide(DEPLOYMENT, KEY).effects
    assert DEPLOYMENT.refused is not None
    world.apply(DEPLOYMENT.refused(world, KEY, Refusal(create, "no quota"), world.now).effects)
    shown = condition(world, "Progressing")
    assert (shown["status"], shown["reason"], shown["message"]) == (
        "False",
        "ReplicaSetCreateError",
        "no quota",
    )
    finish(world)
    assert condition(world, "Progressing")["reason"] == "NewReplicaSetAvailable"


def test_a_refusal_that_goes_on_is_reported_once_and_keeps_its_time() -> None:
    world = deployed(1)
    (create,) = world.decide(DEPLOYMENT, KEY).effects
    assert DEPLOYMENT.refused is not None
    refusal = Refusal(create, "exceeded quota: a0", ("resourcequotas",))
    world.apply(DEPLOYMENT.refused(world, KEY, refusal, world.now).effects)
    since = condition(world, WAITING_FOR)["lastTransitionTime"]
    world.tick(30)
    assert DEPLOYMENT.refused(world, KEY, refusal, world.now).effects == ()
    assert condition(world, WAITING_FOR)["lastTransitionTime"] == since


def test_a_set_that_is_refused_for_longer_than_the_deadline_is_not_looked_at_every_second() -> None:
    world = deployed(1, progressDeadlineSeconds=6)
    (create,) = world.decide(DEPLOYMENT, KEY).effects
    assert DEPLOYMENT.refused is not None
    world.apply(DEPLOYMENT.refused(world, KEY, Refusal(create, "no quota"), world.now).effects)
    world.tick(60)
    assert world.decide(DEPLOYMENT, KEY).again_at == 0.0


def test_a_deployment_that_is_being_deleted_only_reports() -> None:
    world = running(2)
    world.delete(DEPLOYMENTS, "web", policy="Foreground")
    world.delete(REPLICASETS, of_image(world, "v1").metadata.name)
    effects = world.decide(DEPLOYMENT, KEY).effects
    assert all(isinstance(effect, ChangeStatus) for effect in effects)


def test_nothing_is_decided_for_a_deployment_that_is_gone() -> None:
    assert World().decide(DEPLOYMENT, KEY) == NOTHING


def test_sets_left_by_a_former_deployment_are_adopted_with_their_pods() -> None:
    world = running(2)
    before = [pod.metadata.uid for pod in world.list(PODS)]
    spec = world.objects[KEY]["spec"]
    world.delete(DEPLOYMENTS, "web", policy="Orphan")
    world.collect_garbage()
    world.add(DEPLOYMENTS, "web", spec=spec)
    finish(world)
    assert [pod.metadata.uid for pod in world.list(PODS)] == before
    assert of_image(world, "v1").metadata.owner_references[0].uid == deployment(world).metadata.uid


def test_the_revision_of_an_adopted_set_counts() -> None:
    """It is the number that `kubectl rollout history` knows it by: the next template comes after it."""
    world = running(1)
    name = of_image(world, "v1").metadata.name
    spec = world.objects[KEY]["spec"]
    world.delete(DEPLOYMENTS, "web", policy="Orphan")
    world.collect_garbage()
    world.edit(REPLICASETS, name, {"metadata": {"annotations": {REVISION: "7"}}})
    world.add(DEPLOYMENTS, "web", spec=spec)
    set_image(world, "v2")
    finish(world)
    assert of_image(world, "v2").metadata.annotations[REVISION] == "8"
    assert deployment(world).metadata.annotations[REVISION] == "8"


def test_nothing_grows_while_a_set_has_not_observed_its_size() -> None:
    world = running(2, "v1", strategy=rolling(1, 1))
    name = of_image(world, "v1").metadata.name
    set_image(world, "v2")
    world.edit(REPLICASETS, name, {"spec": {"replicas": 1}})  # its pods are still two
    world.turn(DEPLOYMENT, "web")
    assert sizes(world)["v2"] == 0
    finish(world)
    assert sizes(world) == {"v1": 0, "v2": 2}


def test_a_new_set_that_is_being_deleted_is_waited_for_and_made_again() -> None:
    world = running(1)
    name = of_image(world, "v1").metadata.name
    world.edit(REPLICASETS, name, {"metadata": {"finalizers": ["example.com/hold"]}})
    world.delete(REPLICASETS, name)
    world.settle(BOTH)
    assert len(world.list(REPLICASETS)) == 1
    world.edit(REPLICASETS, name, {"metadata": {"finalizers": None}})
    world.collect_garbage()
    finish(world)
    assert (sizes(world), live(world)) == ({"v1": 1}, 1)


def test_a_hash_stands_for_the_template_and_not_for_the_order_of_its_fields() -> None:
    one = {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1, "y": 2}}
    other = {"spec": {"y": 2, "x": 1}, "metadata": {"labels": {"a": "b"}}}
    assert template_hash(one, 0) == template_hash(other, 0)
    assert len({template_hash(one, 0), template_hash(one, 1), template_hash({**one, "spec": {}}, 0)}) == 3


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"metadata": {"labels": {"app": "web", "pod-template-hash": "x"}}}, True),
        ({"metadata": {"labels": {"app": "web"}, "creationTimestamp": None}}, True),
        ({"metadata": {"labels": {"app": "db"}}}, False),
        ({"metadata": {"labels": {"app": "web"}, "annotations": {"restarted": "now"}}}, False),
        ({"spec": {}}, False),
    ],
)
def test_templates_are_the_same_but_for_the_hash_label(changed: Any, same: bool) -> None:
    assert is_same_template({**template(), **changed}, template()) is same


def test_its_sets_and_the_end_of_their_pods_wake_a_deployment() -> None:
    world = running(1)
    found, pod = world.list(REPLICASETS)[0], world.list(PODS)[0]
    assert tuple(woken(DEPLOYMENT, "replicasets.apps", found, found)) == (KEY,)
    assert tuple(woken(DEPLOYMENT, "deployments.apps", None, deployment(world))) == (KEY,)
    assert tuple(woken(DEPLOYMENT, "pods", pod, None)) == (KEY,)
    assert tuple(woken(DEPLOYMENT, "pods", None, pod)) == ()

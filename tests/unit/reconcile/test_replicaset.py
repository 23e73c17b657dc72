"""ReplicaSet: the wanted number of live pods, never more, whatever is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Waiting
from fairlead.decision.effects import ChangeStatus, Create, Delete
from fairlead.model.views import PODS, REPLICASETS, ReplicaSet
from fairlead.reconcile.children import ORDINAL, child_name
from fairlead.reconcile.replicaset import ReplicaSetDecider
from fairlead.store.contract import Key
from tests.unit.reconcile.world import World, names, selector, template

DECIDER = ReplicaSetDecider()
KEY = Key("replicasets.apps", "default", "web")


def world_with(replicas: int, **spec: Any) -> World:
    world = World()
    fields = {"selector": selector(), "template": template(), "replicas": replicas, **spec}
    world.add(REPLICASETS, "web", spec=fields)
    return world


def running(replicas: int, **spec: Any) -> World:
    world = world_with(replicas, **spec)
    world.settle([DECIDER])
    world.start_pods()
    world.settle([DECIDER])
    return world


def status(world: World) -> Any:
    return world.objects[KEY]["status"]


def live(world: World) -> list[str]:
    return [pod.metadata.name for pod in world.list(PODS) if pod.live]


def test_missing_pods_are_created_and_counted() -> None:
    world = world_with(3)
    world.settle([DECIDER])
    assert len(live(world)) == 3
    assert status(world) == {"replicas": 3, "fullyLabeledReplicas": 3, "observedGeneration": 1}
    world.start_pods()
    world.settle([DECIDER])
    assert (status(world)["readyReplicas"], status(world)["availableReplicas"]) == (3, 3)
    assert world.decide(DECIDER, KEY).verdict == SETTLED


def test_a_settled_set_writes_nothing_as_time_goes_by() -> None:
    world = running(2)
    before = world.revision
    world.tick(86400)
    assert world.settle([DECIDER]) == 0
    assert world.revision == before


def test_a_large_set_is_made_in_bounded_steps() -> None:
    world = world_with(70)
    assert len(world.turn(DECIDER, "web").effects) == EFFECTS_MAX
    world.settle([DECIDER])
    assert len(live(world)) == 70


def test_a_gone_pod_is_replaced_under_a_new_name_while_the_old_one_is_still_stopping() -> None:
    world = running(3)
    before = set(live(world))
    gone = sorted(before)[0]
    world.delete(PODS, gone)
    world.settle([DECIDER])
    assert len(live(world)) == 3
    assert len(world.list(PODS)) == 4
    assert gone not in live(world)
    assert len(set(live(world)) - before) == 1


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_ended_is_replaced_and_left_for_people_to_look_at(phase: str) -> None:
    world = running(2)
    ended = live(world)[0]
    world.set_pod(ended, phase)
    world.settle([DECIDER])
    assert len(live(world)) == 2
    assert ended in names(world.list(PODS))
    assert status(world)["replicas"] == 2


def test_the_surplus_goes_and_ready_pods_stay() -> None:
    world = world_with(3)
    world.settle([DECIDER])
    kept = live(world)[1]
    world.set_pod(kept, "Running", ready=True)
    world.settle([DECIDER])
    world.edit(REPLICASETS, "web", {"spec": {"replicas": 1}})
    decision = world.turn(DECIDER, "web")
    deletes = [effect for effect in decision.effects if isinstance(effect, Delete)]
    assert len(deletes) == 2
    assert all(effect.uid and effect.revision for effect in deletes)
    world.settle([DECIDER])
    assert live(world) == [kept]
    assert status(world)["replicas"] == 1


def test_a_set_that_is_being_deleted_creates_no_ghosts() -> None:
    world = running(2)
    world.delete(REPLICASETS, "web", policy="Foreground")
    for name in live(world):
        world.delete(PODS, name)
    world.stop_pods()
    assert not any(isinstance(effect, Create) for effect in world.turn(DECIDER, "web").effects)
    world.settle([DECIDER])
    assert world.list(PODS) == ()


def test_nothing_is_decided_for_a_set_that_is_gone() -> None:
    assert World().decide(DECIDER, KEY) == NOTHING


def test_orphans_are_adopted_before_anything_is_created() -> None:
    world = running(3)
    kept = live(world)
    world.delete(REPLICASETS, "web", policy="Orphan")
    world.add(REPLICASETS, "web", spec={"selector": selector(), "template": template(), "replicas": 3})
    world.settle([DECIDER])
    assert live(world) == kept
    assert not any(isinstance(effect, Create) for effect in world.writes[len(world.writes) - 3 :])


def test_pods_of_a_former_namesake_are_not_counted() -> None:
    world = running(2)
    former = live(world)
    world.delete(REPLICASETS, "web")
    world.add(REPLICASETS, "web", spec={"selector": selector(), "template": template(), "replicas": 2})
    world.settle([DECIDER])
    assert len(live(world)) == 4
    world.collect_garbage()
    assert world.settle([DECIDER]) == 0
    assert len(live(world)) == 2
    assert not set(live(world)) & set(former)


def test_a_pod_whose_labels_match_no_more_is_released_and_replaced() -> None:
    world = running(2)
    freed = live(world)[0]
    world.edit(PODS, freed, {"metadata": {"labels": {"app": "debug"}}})
    world.settle([DECIDER])
    found = world.get(PODS, "default", freed)
    assert found is not None
    assert found.metadata.owner_references == ()
    assert len(live(world)) == 3
    assert status(world)["replicas"] == 2


def test_a_pod_counts_as_available_after_min_ready_seconds_and_the_set_looks_again_then() -> None:
    world = running(1, minReadySeconds=30)
    decision = world.decide(DECIDER, KEY)
    assert "availableReplicas" not in status(world)
    assert decision.again_at == world.now + 30
    assert isinstance(decision.verdict, Waiting)
    world.tick(30)
    world.settle([DECIDER])
    assert status(world)["availableReplicas"] == 1


def test_fewer_available_pods_are_reported_before_replacements_are_made() -> None:
    world = running(3)
    world.delete(PODS, live(world)[0])
    effects = world.decide(DECIDER, KEY).effects
    assert isinstance(effects[0], ChangeStatus)
    assert effects[0].patch["status"]["availableReplicas"] == 2
    assert isinstance(effects[1], Create)


def test_a_name_that_somebody_else_has_taken_is_passed_over() -> None:
    world = world_with(1)
    found = world.get(REPLICASETS, "default", "web")
    assert isinstance(found, ReplicaSet)
    world.add(
        PODS, child_name(found.metadata, "0"), metadata={"labels": {"app": "x"}}, spec=template()["spec"]
    )
    world.settle([DECIDER])
    (own,) = world.owned(PODS, found.metadata.uid)
    assert own.metadata.annotations[ORDINAL] == "1"


def test_a_create_whose_answer_was_lost_is_the_same_create_when_decided_on_a_view_that_lags() -> None:
    world = world_with(3)
    lagging = world.decide(DECIDER, KEY)
    world.apply(lagging.effects)
    world.apply(lagging.effects)  # as a leader would whose view does not show them yet
    assert len(live(world)) == 3


def test_a_refusal_is_reported_until_the_number_is_right() -> None:
    world = world_with(1)
    decision = world.decide(DECIDER, KEY)
    refused = DECIDER.refused(world, KEY, decision.effects[0], "exceeded quota", world.now)
    world.apply(refused.effects)
    (condition,) = status(world)["conditions"]
    assert (condition["type"], condition["status"], condition["reason"], condition["message"]) == (
        "ReplicaFailure",
        "True",
        "FailedCreate",
        "exceeded quota",
    )
    assert DECIDER.refused(world, KEY, decision.effects[0], "exceeded quota", world.now + 5) == NOTHING
    world.settle([DECIDER])
    assert "conditions" not in status(world)


def test_pods_wake_the_set_that_controls_them_and_no_other() -> None:
    world = running(1)
    (pod,) = world.list(PODS)
    assert tuple(DECIDER.keys("pods", None, pod)) == (KEY,)
    assert tuple(DECIDER.keys("pods", pod, None)) == (KEY,)
    world.add(PODS, "alone", spec=template()["spec"])
    assert tuple(DECIDER.keys("pods", None, world.get(PODS, "default", "alone"))) == ()
    assert tuple(DECIDER.keys("replicasets.apps", None, world.get(REPLICASETS, "default", "web"))) == (KEY,)


STEP = st.one_of(
    st.tuples(st.just("scale"), st.integers(0, 6)),
    st.tuples(st.sampled_from(["delete", "fail", "ready", "relabel", "stop"]), st.integers(0, 7)),
    st.tuples(st.just("turn"), st.integers(0, 4)),
)


def _happen(world: World, what: str, number: int) -> None:
    pods = [pod.metadata.name for pod in world.list(PODS) if pod.live and pod.metadata.owner_references]
    if what == "scale":
        world.edit(REPLICASETS, "web", {"spec": {"replicas": number}})
    elif what == "stop":
        world.stop_pods()
    elif pods:
        name = pods[number % len(pods)]
        if what == "delete":
            world.delete(PODS, name)
        elif what == "fail":
            world.set_pod(name, "Failed")
        elif what == "ready":
            world.set_pod(name, "Running", ready=True)
        elif what == "relabel":
            world.edit(PODS, name, {"metadata": {"labels": {"app": "other"}}})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5), st.lists(STEP, max_size=12))
def test_whatever_happens_and_wherever_a_turn_breaks_off_the_number_ends_right_and_is_never_exceeded(
    replicas: int, steps: list[tuple[str, int]]
) -> None:
    world = world_with(replicas)

    def owned() -> int:
        uid = world.objects[KEY]["metadata"]["uid"]
        return sum(pod.live for pod in world.owned(PODS, uid))

    for what, number in steps:
        before = owned()
        if what == "turn":
            world.turn(DECIDER, "web", prefix=number)
            assert owned() <= max(before, world.objects[KEY]["spec"]["replicas"])
        else:
            _happen(world, what, number)
    world.settle([DECIDER])
    wanted = world.objects[KEY]["spec"]["replicas"]
    assert owned() == wanted == status(world)["replicas"]
    assert status(world)["observedGeneration"] == world.objects[KEY]["metadata"]["generation"]

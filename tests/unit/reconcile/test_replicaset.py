"""ReplicaSet: the wanted number of live pods, never more, whatever is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Refusal, Waiting
from fairlead.decision.effects import OPERATION, ChangeStatus, Create, Delete, Effect, premise_of
from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS, ReplicaSet
from fairlead.reconcile.children import child_name
from fairlead.reconcile.replicaset import replicaset_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import Refused, World, names, selector, template

DECIDER = replicaset_decider()
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
    created = [effect for effect in world.writes if isinstance(effect, Create)]
    world.delete(REPLICASETS, "web", policy="Orphan")
    world.collect_garbage()
    world.add(REPLICASETS, "web", spec={"selector": selector(), "template": template(), "replicas": 3})
    world.settle([DECIDER])
    assert live(world) == kept
    assert [effect for effect in world.writes if isinstance(effect, Create)] == created


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
    (report,) = world.turn(DECIDER, "web").effects
    assert isinstance(report, ChangeStatus)
    assert report.patch["status"]["availableReplicas"] == 2
    (create,) = world.decide(DECIDER, KEY).effects
    assert isinstance(create, Create)


def test_a_name_that_somebody_else_has_taken_is_passed_over() -> None:
    world = world_with(1)
    found = world.get(REPLICASETS, "default", "web")
    assert isinstance(found, ReplicaSet)
    (first,) = world.decide(DECIDER, KEY).effects
    world.add(PODS, first.name, metadata={"labels": {"app": "x"}}, spec=template()["spec"])
    world.settle([DECIDER])
    (own,) = world.owned(PODS, found.metadata.uid)
    number = found.metadata.revision + 1
    assert own.metadata.name == child_name(found.metadata, str(number))
    assert own.metadata.annotations[OPERATION] == f"replicaset/{found.metadata.uid}/create/{number}"


def test_after_scaling_to_nothing_and_up_again_no_identity_comes_back() -> None:
    world = world_with(3)
    made: list[str] = []
    for _ in range(3):
        world.edit(REPLICASETS, "web", {"spec": {"replicas": 3}})
        world.settle([DECIDER])
        made += [pod.metadata.annotations[OPERATION] for pod in world.list(PODS)]
        world.edit(REPLICASETS, "web", {"spec": {"replicas": 0}})
        world.settle([DECIDER])
        assert world.list(PODS) == ()
    assert len(set(made)) == len(made) == 9


def test_a_create_of_a_leader_that_saw_no_answer_is_the_same_for_the_next_leader() -> None:
    world = world_with(3)
    first = world.decide(DECIDER, KEY).effects
    world.turn(DECIDER, "web", prefix=1)  # the others were never sent
    world.settle([DECIDER])
    assert len(live(world)) == 3
    assert first[0].name in live(world)


@pytest.mark.parametrize("happens", ["scale", "annotate", "delete"])
def test_what_was_decided_for_a_set_that_has_changed_since_comes_to_nothing(happens: str) -> None:
    world = world_with(2)
    (late, *_) = world.decide(DECIDER, KEY).effects
    assert isinstance(late, Create)
    if happens == "scale":
        world.edit(REPLICASETS, "web", {"spec": {"replicas": 0}})
    elif happens == "annotate":
        world.edit(REPLICASETS, "web", {"metadata": {"annotations": {"a": "b"}}})
    else:
        world.delete(REPLICASETS, "web")
    with pytest.raises(Refused):
        world.apply([late])


def test_a_late_deletion_cannot_meet_another_one_that_was_chosen_since() -> None:
    world = running(3)
    world.edit(REPLICASETS, "web", {"spec": {"replicas": 2}})
    (late,) = world.decide(DECIDER, KEY).effects
    assert isinstance(late, Delete)
    other = next(name for name in live(world) if name != late.name)
    world.set_pod(other, "Running", ready=False)
    world.settle([DECIDER])  # another one goes, because it is not ready any more
    assert late.name in live(world)
    with pytest.raises(Refused):
        world.apply([late])


def test_a_create_whose_answer_was_lost_is_the_same_create_when_decided_on_a_view_that_lags() -> None:
    world = world_with(3)
    lagging = world.decide(DECIDER, KEY)
    world.apply(lagging.effects)
    world.apply(lagging.effects)  # as a leader would whose view does not show them yet
    assert len(live(world)) == 3


def test_a_refusal_is_reported_until_the_number_is_right() -> None:
    world = world_with(1)
    decision = world.decide(DECIDER, KEY)
    refusal = Refusal(decision.effects[0], "exceeded quota")
    assert DECIDER.refused is not None
    refused = DECIDER.refused(world, KEY, refusal, world.now)
    world.apply(refused.effects)
    (condition,) = status(world)["conditions"]
    assert (condition["type"], condition["status"], condition["reason"], condition["message"]) == (
        "ReplicaFailure",
        "True",
        "FailedCreate",
        "exceeded quota",
    )
    assert DECIDER.refused(world, KEY, refusal, world.now + 5).effects == ()
    world.settle([DECIDER])
    assert "conditions" not in status(world)


def test_pods_wake_the_set_that_controls_them_and_no_other() -> None:
    world = running(1)
    (pod,) = world.list(PODS)
    assert tuple(woken(DECIDER, "pods", None, pod)) == (KEY,)
    assert tuple(woken(DECIDER, "pods", pod, None)) == (KEY,)
    world.add(PODS, "alone", spec=template()["spec"])
    assert tuple(woken(DECIDER, "pods", None, world.get(PODS, "default", "alone"))) == ()
    assert tuple(woken(DECIDER, "replicasets.apps", None, world.get(REPLICASETS, "default", "web"))) == (KEY,)


STEP = st.one_of(
    st.tuples(st.just("scale"), st.integers(0, 6)),
    st.tuples(st.sampled_from(["delete", "fail", "ready", "unready", "relabel", "stop"]), st.integers(0, 7)),
    st.tuples(st.just("turn"), st.integers(0, 4)),
    st.tuples(st.just("arrive"), st.integers(0, 7)),
)


class Story:
    """A set, what happens to it, and what is still on its way to the API."""

    def __init__(self, replicas: int) -> None:
        self.world = world_with(replicas)
        self.late: list[Effect] = []
        self.made: dict[str, tuple[str, str]] = {}  # identity -> (uid, revision of the set)
        self.taken = 0  # live pods taken by others since the set last changed
        self._set_at = ""

    @property
    def replicas(self) -> int:
        return int(self.world.objects[KEY]["spec"]["replicas"])

    def live(self) -> int:
        uid = self.world.objects[KEY]["metadata"]["uid"]
        return sum(pod.live for pod in self.world.owned(PODS, uid))

    def step(self, what: str, number: int) -> None:
        before = self.live()
        if what == "turn":
            decision = self.world.decide(DECIDER, KEY)
            for effect in decision.effects[:number]:
                self._carry_out(effect)
            self.late += decision.effects[number : number + 1]  # nobody knows whether it arrives
        elif what == "arrive":
            if self.late:
                self._carry_out(self.late.pop(number % len(self.late)))
        else:
            self._happen(what, number)
            self.taken += max(0, before - self.live())
        at = self.world.objects[KEY]["metadata"]["resourceVersion"]
        if at != self._set_at:
            self._set_at, self.taken = at, 0

    def _carry_out(self, effect: Effect) -> None:
        before = self.live()
        try:
            self.world.apply([effect])
        except Refused:
            return
        after = self.live()
        assert after <= max(before, self.replicas), "one too many"
        if isinstance(effect, Delete):
            assert after == before or after + self.taken >= self.replicas, "one too few"
        else:
            self.taken += max(0, before - after)  # released, because others relabelled it
        if isinstance(effect, Create):
            self._made(effect)

    def _made(self, effect: Create) -> None:
        uid = self.world.objects[effect.key]["metadata"]["uid"]
        at = self.world.objects[KEY]["metadata"]["resourceVersion"]
        known = self.made.setdefault(effect.identity, (uid, at))
        # An occasion ends when the set has changed or told of it; a pod that came and went before never was.
        assert known[0] == uid or known[1] == at, "an identity came back"

    def _happen(self, what: str, number: int) -> None:
        world = self.world
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
            elif what in ("ready", "unready"):
                world.set_pod(name, "Running", ready=what == "ready")
            elif what == "relabel":
                world.edit(PODS, name, {"metadata": {"labels": {"app": "other"}}})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5), st.lists(STEP, max_size=16))
def test_whatever_happens_is_lost_or_late_the_number_is_never_exceeded_and_ends_right(
    replicas: int, steps: list[tuple[str, int]]
) -> None:
    story = Story(replicas)
    for what, number in steps:
        story.step(what, number)
    story.world.settle([DECIDER])
    while story.late:
        story.step("arrive", 0)
    story.world.settle([DECIDER])
    assert story.live() == story.replicas == status(story.world)["replicas"]
    assert status(story.world)["observedGeneration"] == story.world.objects[KEY]["metadata"]["generation"]


def test_a_deletion_commits_only_while_the_pods_that_stay_are_as_they_were() -> None:
    """Which one goes may be decided otherwise after a lost answer, and the first deletion may still arrive."""
    world = World()
    world.add(REPLICASETS, "web", spec={"replicas": 3, "selector": selector(), "template": template()})
    world.settle([DECIDER])
    world.start_pods()
    world.edit(REPLICASETS, "web", {"spec": {"replicas": 1}})
    decision = world.decide(DECIDER, Key("replicasets.apps", "default", "web"))
    deletes = [effect for effect in decision.effects if isinstance(effect, Delete)]
    assert len(deletes) == 2
    gone = {delete.name for delete in deletes}
    (stays,) = [pod for pod in world.list(PODS) if pod.metadata.name not in gone]
    assert all(delete.premises[1:] == (premise_of(PODS, stays.metadata),) for delete in deletes)

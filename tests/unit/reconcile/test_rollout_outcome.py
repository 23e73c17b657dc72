"""What follows a failed rollout, as its Deployment declares it."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.decision.contract import NOTHING, Stuck, Waiting
from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS
from fairlead.reconcile import rollout_outcome
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.reconcile.replicaset import replicaset_decider
from fairlead.reconcile.rollout_outcome import OUTCOME, RETRIES_MAX, ROLLOUT_STUCK, rollout_outcome_decider
from tests.unit.reconcile.world import World, selector, template

Json = dict[str, Any]
WORKLOADS = (deployment_decider(), replicaset_decider())
DECIDER = rollout_outcome_decider()
KEY = Key(DEPLOYMENTS.name, "default", "web")


def good(pod: Json) -> bool:
    return bool(pod["spec"]["containers"][0]["image"] == "web:1")


def deployed(outcome: str | None) -> World:
    """A Deployment whose first rollout is done, and whose second, of an image that never becomes ready, has failed."""
    world = World()
    metadata = {"annotations": {OUTCOME: outcome}} if outcome is not None else {}
    spec = {
        "replicas": 2,
        "selector": selector(),
        "template": template(image="web:1"),
        "progressDeadlineSeconds": 30,
    }
    world.add(DEPLOYMENTS, "web", metadata=metadata, spec=spec)
    come(world)
    world.edit(DEPLOYMENTS, "web", {"spec": {"template": template(image="web:2", hostname="odd")}})
    fail(world)
    return world


def come(world: World) -> None:
    for _ in range(4):
        world.settle(WORKLOADS)
        world.stop_pods()
        world.start_pods(good)
    world.settle(WORKLOADS)


def fail(world: World) -> None:
    come(world)
    world.tick(40)
    come(world)


def spec(world: World) -> Json:
    found: Json = world.objects[KEY]["spec"]
    return found


def image(world: World) -> str:
    text: str = spec(world)["template"]["spec"]["containers"][0]["image"]
    return text


def condition(world: World, kind: str) -> Json:
    told = world.objects[KEY]["status"]["conditions"]
    return next((each for each in told if each["type"] == kind), {})


def test_it_goes_back_to_the_template_before_and_is_whole_again() -> None:
    world = deployed("roll-back")
    assert condition(world, "Progressing")["reason"] == "ProgressDeadlineExceeded"
    decision = world.turn(DECIDER, "web")
    assert [each.reason for each in decision.events] == ["RolloutRolledBack"]
    assert "to revision 1" in decision.events[0].message
    assert image(world) == "web:1"
    assert "hostname" not in spec(world)["template"]["spec"]  # nothing of the failed one stays
    come(world)
    assert condition(world, "Progressing")["reason"] == "NewReplicaSetAvailable"
    assert world.turn(DECIDER, "web").effects == ()


def test_what_was_rolled_back_and_fails_again_is_stuck() -> None:
    world = deployed("roll-back")
    world.turn(DECIDER, "web")
    world.settle(WORKLOADS)
    failed = {**condition(world, "Progressing"), "status": "False", "reason": "ProgressDeadlineExceeded"}
    world.edit_status(DEPLOYMENTS, "web", {"conditions": [failed]})
    decision = world.turn(DECIDER, "web")
    assert isinstance(decision.verdict, Stuck)
    assert image(world) == "web:1"
    assert "has failed as well" in condition(world, ROLLOUT_STUCK)["message"]


def test_a_first_rollout_has_nothing_to_go_back_to() -> None:
    world = World()
    fields = {
        "replicas": 1,
        "selector": selector(),
        "template": template(image="bad"),
        "progressDeadlineSeconds": 30,
    }
    world.add(DEPLOYMENTS, "web", metadata={"annotations": {OUTCOME: "roll-back"}}, spec=fields)
    fail(world)
    world.turn(DECIDER, "web")
    assert "there is none before it" in condition(world, ROLLOUT_STUCK)["message"]


def test_it_is_tried_again_three_times_and_then_stuck() -> None:
    world = deployed("retry")
    for number in range(RETRIES_MAX):
        decision = world.turn(DECIDER, "web")
        assert [each.reason for each in decision.events] == ["RolloutRetried"], number
        fail(world)
    assert isinstance(world.turn(DECIDER, "web").verdict, Stuck)
    assert image(world) == "web:2"
    assert "tried again 3 times" in condition(world, ROLLOUT_STUCK)["message"]


def test_stuck_is_said_once_and_taken_back_when_somebody_acts() -> None:
    world = deployed("stuck")
    decision = world.turn(DECIDER, "web")
    assert isinstance(decision.verdict, Stuck)
    assert (condition(world, ROLLOUT_STUCK)["status"], condition(world, ROLLOUT_STUCK)["owner"]) == (
        "True",
        "user",
    )
    again = world.turn(DECIDER, "web")
    assert (again.effects, again.events) == ((), ())
    world.edit(DEPLOYMENTS, "web", {"spec": {"template": template(image="web:1", hostname=None)}})
    come(world)
    world.turn(DECIDER, "web")
    assert condition(world, ROLLOUT_STUCK) == {}


@pytest.mark.parametrize("outcome", ["wait", "a word of somebody's own"])
def test_to_wait_is_to_do_nothing(outcome: str) -> None:
    world = deployed(outcome)
    decision = world.turn(DECIDER, "web")
    assert (decision.effects, isinstance(decision.verdict, Waiting)) == ((), True)


def test_who_declares_nothing_is_left_alone() -> None:
    assert deployed(None).decide(DECIDER, KEY) == NOTHING


def test_a_pause_of_rollouts_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world = deployed("roll-back")
    monkeypatch.setattr(rollout_outcome, "paused_by", lambda *asked: "calm")
    decision = world.turn(DECIDER, "web")
    assert decision.effects == ()
    assert isinstance(decision.verdict, Waiting)
    assert "calm" in decision.verdict.message

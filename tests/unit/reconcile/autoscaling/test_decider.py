"""The autoscaler: how many replicas follow from what is measured, how fast, and what holds it back."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.decision.contract import NOTHING, SETTLED, Refusal, Waiting
from fairlead.decision.effects import Change, ChangeScale, ChangeStatus
from fairlead.model.key import Key
from fairlead.model.views import AUTOSCALERS, DEPLOYMENTS, PLANE_SETTINGS, PODS
from fairlead.reconcile.autoscaling.memory import MEMORY
from tests.unit.reconcile.autoscaling.scaling import (
    AUTOSCALER,
    CPU,
    KEY,
    TARGET,
    WORKLOADS,
    add_autoscaler,
    condition,
    follow,
    look,
    message,
    replicas,
    scaled,
    status,
    use,
)
from tests.unit.reconcile.waking import woken

Json = dict[str, Any]


def test_more_is_used_than_wanted_and_replicas_follow() -> None:
    world = scaled(2)
    use(world, "90m")
    decision = look(world)
    assert replicas(world) == 4  # 90 % of 100m against 50 %
    assert [type(each) for each in decision.effects] == [Change, ChangeScale, ChangeStatus]
    assert decision.again_at == world.now + 15
    assert [(each.reason, each.message) for each in decision.events] == [
        (
            "SuccessfulRescale",
            "New size: 4; reason: cpu resource utilization (percentage of request) above target",
        )
    ]
    told = status(world)
    assert (told["currentReplicas"], told["desiredReplicas"], told["observedGeneration"]) == (2, 4, 1)
    assert told["lastScaleTime"]
    assert told["currentMetrics"] == [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": 90, "averageValue": "90m"}},
        }
    ]
    assert condition(world, "AbleToScale") == ("True", "SucceededRescale")
    assert condition(world, "ScalingActive") == ("True", "ValidMetricFound")
    assert condition(world, "ScalingLimited") == ("False", "DesiredWithinRange")


@pytest.mark.parametrize(("used", "wanted"), [("55m", 2), ("46m", 2), ("56m", 3)])
def test_what_is_off_by_a_tenth_is_tolerated(used: str, wanted: int) -> None:
    world = scaled(2)
    use(world, used)
    look(world)
    assert replicas(world) == wanted


def test_a_tolerance_of_its_own_counts() -> None:
    world = scaled(2, behavior={"scaleUp": {"tolerance": "0.5"}})
    use(world, "74m")
    look(world)
    assert replicas(world) == 2
    use(world, "76m")
    look(world, 15)
    assert replicas(world) == 4


def test_a_settled_autoscaler_writes_nothing() -> None:
    world = scaled(2)
    use(world, "50m")
    look(world)
    before = world.revision
    for _ in range(3):
        assert look(world, 15).verdict == SETTLED
    assert world.revision == before


def test_pods_are_taken_away_only_when_five_minutes_wanted_no_more() -> None:
    world = scaled(4)
    use(world, "50m")
    look(world)
    use(world, "10m")
    for _ in range(20):
        look(world, 15)
        assert replicas(world) == 4
        assert condition(world, "AbleToScale") == ("True", "ScaleDownStabilized")
    look(world, 15)
    assert replicas(world) == 1


def test_a_new_leader_does_not_take_pods_away_at_once() -> None:
    """All that counts is in the objects: another Decider, after a time in which nobody looked, knows it."""
    world = scaled(4)
    use(world, "50m")
    look(world)
    use(world, "10m")
    look(world, 3600)
    assert replicas(world) == 4
    look(world, 299)
    assert replicas(world) == 4
    look(world, 2)
    assert replicas(world) == 1


def test_one_that_has_just_been_made_begins_with_the_number_there_is() -> None:
    world = scaled(4)
    use(world, "10m")
    look(world)
    assert replicas(world) == 4
    world.edit(AUTOSCALERS, "web", {"metadata": {"annotations": {MEMORY: "no text of ours"}}})
    look(world, 290)
    assert replicas(world) == 4  # forgotten is new


def test_up_by_as_many_as_there_are_in_fifteen_seconds() -> None:
    world = scaled(6)
    use(world, "500m")
    look(world)
    assert replicas(world) == 12
    assert condition(world, "ScalingLimited") == ("True", "ScaleUpLimit")
    follow(world)
    look(world, 5)
    assert replicas(world) == 12
    world.tick(400)
    use(world, "500m")
    look(world)
    assert replicas(world) == 20
    assert condition(world, "ScalingLimited") == ("True", "TooManyReplicas")


def test_a_policy_counts_what_was_done_in_its_period() -> None:
    rules = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
    world = scaled(2, behavior={"scaleUp": rules})
    use(world, "200m")
    look(world)
    assert replicas(world) == 3
    follow(world)
    use(world, "200m")
    look(world, 30)
    assert replicas(world) == 3
    look(world, 31)
    assert replicas(world) == 4


def test_a_crash_after_the_note_repeats_the_change_and_after_the_change_does_not() -> None:
    rules = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
    world = scaled(2, behavior={"scaleUp": rules})
    use(world, "200m")
    world.turn(AUTOSCALER, "web", prefix=1)  # noted, not done
    assert replicas(world) == 2
    world.turn(AUTOSCALER, "web", prefix=2)  # done, not reported
    assert replicas(world) == 3
    look(world, 1)
    assert replicas(world) == 3


@pytest.mark.parametrize(("select", "wanted"), [("Disabled", 2), ("Min", 3), ("Max", 5)])
def test_which_policy_counts(select: str, wanted: int) -> None:
    policies = [
        {"type": kind, "value": value, "periodSeconds": 15} for kind, value in (("Pods", 3), ("Percent", 50))
    ]
    world = scaled(2, behavior={"scaleUp": {"selectPolicy": select, "policies": policies}})
    use(world, "400m")
    look(world)
    assert replicas(world) == wanted


def test_a_window_on_the_way_up_takes_the_lowest() -> None:
    world = scaled(2, behavior={"scaleUp": {"stabilizationWindowSeconds": 60}})
    use(world, "90m")
    look(world)
    assert replicas(world) == 2
    look(world, 59)
    assert condition(world, "AbleToScale") == ("True", "ScaleUpStabilized")
    look(world, 2)
    assert replicas(world) == 4


@pytest.mark.parametrize(
    ("there", "wanted", "why"), [(9, 5, "above Spec.MaxReplicas"), (1, 3, "below Spec.MinReplicas")]
)
def test_bounds_hold_at_once(there: int, wanted: int, why: str) -> None:
    world = scaled(there, minReplicas=3, maxReplicas=5)
    decision = look(world)
    assert replicas(world) == wanted
    assert why in decision.events[0].message


def test_a_target_of_none_is_left_alone() -> None:
    world = scaled(0)
    look(world)
    assert replicas(world) == 0
    assert condition(world, "ScalingActive") == ("False", "ScalingDisabled")


def test_no_target_no_scale() -> None:
    world = scaled(2)
    world.edit(AUTOSCALERS, "web", {"spec": {"scaleTargetRef": {**TARGET, "name": "none"}}})
    decision = look(world)
    assert condition(world, "AbleToScale") == ("False", "FailedGetScale")
    assert 'deployments.apps "none" not found' in message(world, "AbleToScale")
    assert decision.again_at


def test_two_of_one_target_stop_each_other() -> None:
    world = scaled(2)
    use(world, "90m")
    add_autoscaler(world, "second")
    look(world)
    assert replicas(world) == 2
    assert condition(world, "ScalingActive") == ("False", "AmbiguousSelector")
    assert "default/second default/web" in message(world, "ScalingActive")


def test_nothing_is_done_while_nothing_is_known() -> None:
    world = scaled(2)
    decision = look(world)
    assert decision.verdict == Waiting(
        "FailedGetResourceMetric", "did not receive metrics for targeted pods (pods might be unready)"
    )
    assert condition(world, "ScalingActive") == ("False", "FailedGetResourceMetric")


def test_a_container_without_a_request_is_named() -> None:
    world = scaled(2, cpu=None)
    use(world, "90m")
    look(world)
    assert "missing request for cpu in container main of Pod web-" in message(world, "ScalingActive")


def test_pods_that_are_not_measured_count_against_any_change() -> None:
    world = scaled(4)
    names = [pod.metadata.name for pod in world.list(PODS)]
    use(world, "80m", names[:2])
    look(world)
    assert replicas(world) == 4  # 160 % of two, 80 % of four: the direction turned
    use(world, "10m", names[:2])
    look(world, 400)
    look(world, 400)
    assert replicas(world) == 4  # those that are silent are taken to use all they asked for


def test_pods_on_their_way_count_as_idle_on_the_way_up() -> None:
    world = scaled(2)
    use(world, "100m")
    look(world)
    world.settle(WORKLOADS)  # two more, not started
    look(world, 15)
    assert replicas(world) == 4
    world.start_pods()
    use(world, "100m")
    look(world, 5)
    assert replicas(world) == 4  # ready for less than a window: what they use is their start


def test_the_largest_of_several_metrics_wins() -> None:
    queue = {
        "type": "Pods",
        "pods": {"metric": {"name": "queued"}, "target": {"type": "AverageValue", "averageValue": "10"}},
    }
    world = scaled(2, metrics=(CPU, queue))
    use(world, "60m")
    for pod in world.list(PODS):
        world.edit(
            PODS, pod.metadata.name, {"metadata": {"annotations": {"metrics.fairlead.dev/queued": "25"}}}
        )
    look(world)
    assert replicas(world) == 5
    assert message(world, "ScalingActive").endswith("from pods metric queued")
    assert len(status(world)["currentMetrics"]) == 2


def test_with_one_metric_unknown_it_goes_up_and_not_down() -> None:
    queue = {
        "type": "Pods",
        "pods": {"metric": {"name": "queued"}, "target": {"type": "AverageValue", "averageValue": "10"}},
    }
    world = scaled(2, metrics=(queue, CPU), behavior={"scaleDown": {"stabilizationWindowSeconds": 0}})
    use(world, "10m")
    look(world)
    assert replicas(world) == 2
    assert condition(world, "ScalingActive") == ("False", "FailedGetPodsMetric")
    use(world, "90m")
    look(world, 15)
    assert replicas(world) == 4


def test_its_own_notes_and_reports_wake_nobody() -> None:
    world = scaled(2)
    before = world.get(AUTOSCALERS, "default", "web")
    use(world, "90m")
    look(world)
    after = world.get(AUTOSCALERS, "default", "web")
    assert before is not None
    assert after is not None
    assert list(woken(AUTOSCALER, AUTOSCALERS.name, before, after)) == []
    assert list(woken(AUTOSCALER, AUTOSCALERS.name, None, after)) == [KEY]
    world.edit(AUTOSCALERS, "web", {"spec": {"maxReplicas": 9}})
    newest = world.get(AUTOSCALERS, "default", "web")
    assert newest is not None
    assert list(woken(AUTOSCALER, AUTOSCALERS.name, after, newest)) == [KEY]


def test_settings_of_the_plane_are_taken_up() -> None:
    world = scaled(2)
    numbers = {"tolerance": 0.5, "syncSeconds": 60.0}
    world.add(PLANE_SETTINGS, "default", spec={"autoscaling": numbers})
    use(world, "74m")
    decision = look(world)
    assert (replicas(world), decision.again_at) == (2, world.now + 60)


def test_a_refused_change_is_told() -> None:
    world = scaled(2)
    use(world, "90m")
    scale = next(each for each in world.decide(AUTOSCALER, KEY).effects if isinstance(each, ChangeScale))
    assert AUTOSCALER.refused is not None
    view = world.mirrors.view(*AUTOSCALER.reads)
    told = AUTOSCALER.refused(view, KEY, Refusal(scale, "a policy says no"), world.now)
    world.apply(told.effects)
    assert condition(world, "AbleToScale") == ("False", "FailedUpdateScale")
    assert told.events[0].message == "New size: 4; error: a policy says no"


def test_the_record_has_the_values_that_were_used() -> None:
    world = scaled(2)
    use(world, "90m")
    (used,) = look(world).inputs
    assert (used["metric"], used["replicas"]) == ("cpu resource utilization (percentage of request)", 4)
    assert sorted(used["pods"].values()) == ["90m", "90m"]


def test_what_is_going_is_left_alone() -> None:
    world = scaled(2)
    world.edit(AUTOSCALERS, "web", {"metadata": {"finalizers": ["example.com/hold"]}})
    world.delete(AUTOSCALERS, "web")
    assert world.decide(AUTOSCALER, KEY) == NOTHING
    assert world.decide(AUTOSCALER, Key(AUTOSCALERS.name, "default", "none")) == NOTHING


def test_a_change_of_scale_is_void_once_the_target_has_changed() -> None:
    world = scaled(2)
    use(world, "90m")
    decision = world.decide(AUTOSCALER, KEY)
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 7}})
    scale = next(each for each in decision.effects if isinstance(each, ChangeScale))
    with pytest.raises(AssertionError, match="Conflict"):
        world.apply((scale,))
    assert replicas(world) == 7

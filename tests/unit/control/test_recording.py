"""A RecordingPolicy decides how much is recorded of which decision, and loses nothing that is blocked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.control.instructions import TURNS
from fairlead.control.merging import Merging
from fairlead.control.recording import RAISED_MAX, Recording, RecordSubject
from fairlead.model.key import Key
from fairlead.model.kinds.recordingpolicy import FULL, NONE, OUTCOME
from fairlead.model.views import (
    DEPLOYMENTS,
    OVERRIDES,
    RECORDING_POLICIES,
    SCHEDULING_POLICIES,
    Deployment,
    DeploymentStatus,
    Meta,
    RecordingPolicy,
    RecordingPolicySpec,
    RecordingRule,
    SchedulerOverride,
    SchedulerOverrideSpec,
    SchedulingPolicy,
)
from tests.unit.control.test_merging import World, covered

PATH = "/apis/fairlead.dev/v1/recordingpolicies"
POD = Key("pods", "bank", "web-1")


def following(*rules: RecordingRule, minutes: int = 0, percent: int = 100) -> Recording:
    recording = Recording()
    spec = RecordingPolicySpec(rules=rules, raise_minutes=minutes, settled_percent=percent)
    policy = RecordingPolicy(Meta(uid="u", resource_version="1", name="default"), spec)
    recording.observe(RECORDING_POLICIES.name, None, policy, 0.0)
    return recording


def subject(
    controller: str = "scheduler", key: Key = POD, blocked: bool = False, **rest: Any
) -> RecordSubject:
    return RecordSubject(controller, key, blocked, **rest)


def test_without_a_policy_everything_is_full() -> None:
    assert Recording().level(subject(), 1.0) == FULL
    recording = following(RecordingRule(NONE))
    recording.observe(
        RECORDING_POLICIES.name,
        RecordingPolicy(Meta(uid="u", resource_version="1", name="default")),
        None,
        1.0,
    )
    assert recording.level(subject(), 1.0) == FULL


@pytest.mark.parametrize(
    ("rule", "matching", "other"),
    [
        (RecordingRule(OUTCOME, controllers=("repair",)), subject("repair"), subject()),
        (RecordingRule(OUTCOME, namespaces=("bank",)), subject(), subject(key=Key("pods", "shop", "web-1"))),
        (RecordingRule(OUTCOME, resources=("pods",)), subject(), subject(key=Key("nodes", "", "web-1"))),
        (RecordingRule(OUTCOME, names=("web",)), subject(owner="web"), subject(owner="api")),
        (RecordingRule(OUTCOME, min_priority=10), subject(priority=10), subject(priority=9)),
        (RecordingRule(OUTCOME, min_priority=0), subject(priority=0), subject("repair")),
        (RecordingRule(OUTCOME, failed=True), subject(blocked=True), subject()),
        (RecordingRule(OUTCOME, failed=False), subject(), subject(blocked=True)),
    ],
)
def test_a_rule_matches_by_its_conditions(
    rule: RecordingRule, matching: RecordSubject, other: RecordSubject
) -> None:
    recording = following(rule)
    assert recording.level(matching, 1.0) == OUTCOME
    assert recording.level(other, 1.0) == FULL


def test_the_first_rule_that_matches_decides() -> None:
    recording = following(RecordingRule(FULL, namespaces=("bank",)), RecordingRule(NONE))
    assert recording.level(subject(), 1.0) == FULL
    assert recording.level(subject(key=Key("pods", "shop", "a")), 1.0) == NONE
    assert recording.level(subject(key=Key("pods", "shop", "a"), blocked=True), 1.0) == OUTCOME


def test_windows_open_and_close() -> None:
    recording = following(
        RecordingRule(FULL, when=("PolicyChange", "Rollout", "Incident")), RecordingRule(NONE)
    )
    assert recording.level(subject(), 1000.0) == NONE
    recording.observe(
        SCHEDULING_POLICIES.name,
        None,
        SchedulingPolicy(Meta(uid="u", resource_version="1", name="packed")),
        1000.0,
    )
    assert recording.level(subject(), 1599.0) == FULL
    assert recording.level(subject(), 1600.0) == NONE
    override = SchedulerOverride(
        Meta(uid="u", resource_version="1", name="hold", namespace="bank"),
        SchedulerOverrideSpec(expires_at="1970-01-01T01:00:00Z"),
    )
    recording.observe(OVERRIDES.name, None, override, 2000.0)
    assert recording.level(subject(), 3599.0) == FULL
    assert recording.level(subject(), 3600.0) == NONE, "it has ended by itself"
    rolling = Deployment(
        Meta(uid="u", resource_version="1", name="web", namespace="bank", generation=2),
        status=DeploymentStatus(1, 1, 1),
    )
    recording.observe(DEPLOYMENTS.name, None, rolling, 4000.0)
    assert recording.level(subject(), 4000.0) == FULL
    assert recording.level(subject(key=Key("pods", "shop", "web-1")), 4000.0) == NONE
    done = Deployment(
        Meta(uid="u", resource_version="1", name="web", namespace="bank", generation=2),
        status=DeploymentStatus(2, 1, 1),
    )
    recording.observe(DEPLOYMENTS.name, rolling, done, 4001.0)
    assert recording.level(subject(), 4001.0) == NONE


def test_what_begins_to_fail_is_raised_and_falls_back_by_itself() -> None:
    recording = following(RecordingRule(NONE), minutes=10)
    recording.failing(subject(blocked=True, owner="web"), 100.0)
    assert recording.level(subject(), 699.0) == FULL
    assert recording.level(subject("replicaset", Key("replicasets.apps", "bank", "web")), 699.0) == FULL
    assert recording.level(subject(key=Key("pods", "bank", "other")), 699.0) == NONE
    assert recording.level(subject(), 700.0) == NONE
    for number in range(RAISED_MAX + 5):
        recording.failing(subject(key=Key("pods", "bank", f"p{number}")), 100.0)
    assert len(recording._raised) == RAISED_MAX


def test_a_sample_is_the_same_each_time() -> None:
    recording = following(percent=20)
    kept = [number for number in range(1000) if recording.is_sampled(f"aa-{number}")]
    assert 120 < len(kept) < 280
    assert kept == [number for number in range(1000) if recording.is_sampled(f"aa-{number}")]
    assert not any(following(percent=0).is_sampled(f"aa-{number}") for number in range(100))


def with_policy(world: World, **spec: Any) -> None:
    body = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "RecordingPolicy",
        "metadata": {"name": "default"},
        "spec": spec,
    }
    code, answer = world.api.post(PATH, body)
    assert code == 201, answer
    world.driver.run(5)
    del world.driver.records[:], world.driver.streams[:]


def lost(world: World) -> list[int]:
    """Attempts to place the pod that fits nowhere of which no record tells: there must be none."""
    for each in world.driver.plane.end_term():
        world.driver.records.append(json.loads(each.body))
    placer = world.driver.plane.placer
    assert placer is not None
    entry = placer.waiting.get(Key("pods", "default", "big"))
    assert entry is not None
    told = covered(world.attempts())
    return [number for number in range(told[0], entry.attempts + 1) if number not in told]


def test_no_policy_loses_a_blocked_decision() -> None:
    world = World()
    with_policy(world, rules=[{"level": "None"}], settledPercent=0, raiseMinutes=0)
    world.stir(6)
    assert TURNS not in world.driver.streams
    assert world.driver.plane.health.recording.left_out > 10
    verdicts = {(each["controller"], each["verdict"]) for each in world.driver.records if "verdict" in each}
    assert ("scheduler", "Placed") not in verdicts
    assert ("scheduler", "Unschedulable") in verdicts
    blocked = [each for each in world.driver.records if each.get("object") == "pods/default/big"]
    assert {each["detail"] for each in blocked} == {"Outcome"}
    assert not any("waterfall" in each or "refusals" in each for each in blocked)
    assert lost(world) == []


def test_a_plane_that_forgets_what_it_counted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    with_policy(world, rules=[{"level": "None"}], raiseMinutes=0)
    world.stir(6)
    monkeypatch.setattr(Merging, "end", lambda merging: ())
    assert lost(world), "what was counted since the last doubling"


def test_the_detail_of_a_pod_that_begins_to_fail_rises() -> None:
    world = World()
    with_policy(world, rules=[{"level": "None"}], raiseMinutes=10)
    world._make("bigger", "200")
    world.driver.run(5)
    found = [each for each in world.driver.records if each.get("object") == "pods/default/bigger"]
    assert found
    assert all("detail" not in each for each in found)
    assert any("waterfall" in each for each in found)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"rules": [{"level": "Much"}]}, "spec.rules[0].level"),
        ({"rules": [{"level": "Full", "when": ["Never"]}]}, "spec.rules[0].when[0]"),
        ({"rules": [{"level": "Full", "resources": ["apps/Deployments"]}]}, "spec.rules[0].resources[0]"),
        ({"rules": [{"level": "Full", "names": [""]}]}, "spec.rules[0].names[0]"),
        ({"bytesMax": 10}, "spec.bytesMax"),
        ({"settledPercent": 101}, "spec.settledPercent"),
        ({"raiseMinutes": -1}, "spec.raiseMinutes"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_field(spec: dict[str, Any], field: str) -> None:
    from tests.inprocess import InProcess

    body = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "RecordingPolicy",
        "metadata": {"name": "default"},
        "spec": spec,
    }
    code, answer = InProcess().post(PATH, body)
    assert code == 422
    assert [each["field"] for each in answer["details"]["causes"]] == [field]


def test_its_status_says_that_it_is_followed() -> None:
    world = World()
    with_policy(world, rules=[{"level": "Outcome"}])
    [condition] = world.api.get(f"{PATH}/default")[1]["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("InForce", "True")

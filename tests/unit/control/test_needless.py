"""Looks that could find nothing are left out, and no others (`control/needless.py`)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fairlead.control.controller import Controller
from fairlead.control.needless import Needless
from fairlead.control.own_writes import Write
from fairlead.control.turn import Turn
from fairlead.decision.contract import Decision
from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS, PODS
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS as PATH
from tests.unit.control.test_plane import deployment

WEB = Key(DEPLOYMENTS.name, "default", "web")
POD = Key(PODS.name, "default", "web-1")
NOW = 1000.0


def ended(decision: Decision, *writes: Write, is_open: bool = False, is_held: bool = False) -> Turn:
    return Turn(WEB, decision, NOW, writes=list(writes), is_open=is_open, is_held=is_held)


OWN = Write(WEB, 7, creates=False)


@pytest.mark.parametrize(
    ("turn", "cause", "shown", "is_own"),
    [
        (ended(Decision(is_final=True), OWN), WEB, 7, True),
        (ended(Decision(is_final=True), OWN), POD, 7, False),
        (ended(Decision(is_final=True), OWN), None, 7, False),
        (ended(Decision(is_final=True), OWN), WEB, 8, False),
        (ended(Decision(is_final=True), OWN), WEB, 0, False),
        (ended(Decision(), OWN), WEB, 7, False),
        (ended(Decision(is_final=True)), WEB, 7, False),
        (ended(Decision(is_final=True), OWN, is_open=True), WEB, 7, False),
        (ended(Decision(is_final=True), OWN, is_held=True), WEB, 7, False),
        (ended(Decision(is_final=True), OWN, Write(POD, 8, creates=False)), WEB, 7, False),
    ],
    ids=[
        "its own last write",
        "another object changed",
        "no change led to it",
        "somebody wrote since",
        "it is gone",
        "more is to be done",
        "it wrote nothing",
        "somebody else may have written it",
        "something was refused",
        "another object was written last",
    ],
)
def test_only_a_look_at_ones_own_last_write_is_left_out(
    turn: Turn, cause: Key | None, shown: int, is_own: bool
) -> None:
    needless = Needless(lambda key: shown)
    needless.finished(turn, NOW)
    assert needless.is_own(WEB, cause) is is_own


def test_what_is_left_out_comes_back_when_it_was_asked_for() -> None:
    needless = Needless(lambda key: 7)
    needless.finished(ended(Decision(again_at=NOW + 60, is_final=True), OWN), NOW)
    assert needless.leave_out(WEB) == NOW + 60
    assert not needless.is_own(WEB, WEB), "once"


def test_a_turn_that_begins_ends_what_was_known() -> None:
    needless = Needless(lambda key: 7)
    needless.finished(ended(Decision(rest_until=NOW + 1, is_final=True), OWN), NOW)
    needless.began(WEB)
    assert not needless.is_own(WEB, WEB)
    assert needless.earliest(WEB, NOW) == NOW


def test_a_key_rests_until_its_time_and_is_then_forgotten() -> None:
    needless = Needless(lambda key: 0)
    needless.finished(ended(Decision(rest_until=NOW + 1)), NOW)
    assert needless.earliest(WEB, NOW + 0.2) == NOW + 1
    assert needless.earliest(WEB, NOW + 2) == NOW + 2
    assert needless.earliest(POD, NOW) == NOW
    later = Turn(POD, Decision(rest_until=NOW + 6), NOW + 5)
    needless.finished(later, NOW + 5)
    assert needless.earliest(WEB, NOW) == NOW, "no more than those that rest are remembered"


def decided(driver: Driver) -> dict[str, int]:
    return {each.decider.name: each.decided for each in driver.plane.controllers}


def test_one_replica_takes_few_decisions_and_ends_reported() -> None:
    api = InProcess()
    driver = Driver(api)
    driver.run(30)
    before = decided(driver)
    api.post(PATH, deployment(1))
    driver.run(30)
    _, web = api.get(f"{PATH}/web")
    assert web["status"]["availableReplicas"] == web["status"]["progress"]["ready"] == 1
    after = {name: count - before[name] for name, count in decided(driver).items()}
    assert after["deployment"] <= 6, "10 before its own status woke it no more"
    assert after["replicaset"] <= 5, "6"
    assert after["progress"] <= 6, "13 before it rested between two reports"
    assert sum(each.needless.left_out for each in driver.plane.controllers) > 0


def test_a_status_that_somebody_else_spoils_is_mended() -> None:
    """Their write is no news of one's own, also if it comes right after."""
    api = InProcess()
    driver = Driver(api)
    api.post(PATH, deployment(1))
    driver.run(30)
    api.patch(f"{PATH}/web/status", {"status": {"availableReplicas": 9}})
    driver.run(10)
    _, web = api.get(f"{PATH}/web")
    assert web["status"]["availableReplicas"] == 1


def test_a_deployment_that_goes_on_after_a_pause_says_what_follows_from_it() -> None:
    """That it goes on is one report, and what follows another: the first is not the last."""
    api = InProcess()
    driver = Driver(api)
    api.post(PATH, deployment(1))
    driver.run(30)
    for paused, reason in ((True, "DeploymentPaused"), (False, "NewReplicaSetAvailable")):
        api.patch(f"{PATH}/web", {"spec": {"paused": paused}})
        driver.run(5)
        _, web = api.get(f"{PATH}/web")
        assert [each["reason"] for each in web["status"]["conditions"] if each["type"] == "Progressing"] == [
            reason
        ]


def test_a_resync_looks_also_at_what_has_just_been_written() -> None:
    api = InProcess()
    driver = Driver(api)
    api.post(PATH, deployment(1))
    driver.run(30)
    controller = next(each for each in driver.plane.controllers if each.decider.name == "deployment")
    before = controller.decided
    controller.needless.finished(
        Turn(WEB, Decision(is_final=True), driver.now, writes=[written(driver)]), driver.now
    )
    controller._causes[WEB] = WEB
    controller.resync((WEB,), driver.now, 0.0)
    controller.stirred = True
    driver.run(10)
    assert controller.decided == before + 1


def written(driver: Driver) -> Write:
    return Write(WEB, driver.plane.mirrors[WEB.resource].revision_of(WEB), creates=False)


@pytest.mark.parametrize("seed", range(6))
def test_a_turn_that_is_left_out_would_have_done_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is done to a Deployment: each turn that is left out is decided all the same, and has no effects."""
    leave_out, left_out = Controller._leave_out, []

    def checked(controller: Controller, key: Key, now: float) -> None:
        decision = controller.decider.decide(controller._view(), key, now)
        assert decision.effects == (), (controller.decider.name, decision.effects)
        left_out.append(key)
        leave_out(controller, key, now)

    monkeypatch.setattr(Controller, "_leave_out", checked)
    chance = random.Random(seed)
    api = InProcess()
    driver = Driver(api)
    body = deployment(chance.randrange(4))
    body["spec"]["progressDeadlineSeconds"] = chance.choice([600, 3])
    if chance.random() < 0.3:
        body["spec"]["strategy"] = {"type": "Recreate"}
    api.post(PATH, body)
    driver.run(chance.choice([1, 20]))
    image = {"template": {"spec": {"containers": [{"name": "main", "image": f"web:{seed}"}]}}}
    acts: list[tuple[str, Any]] = [
        ("", {"spec": {"replicas": chance.randrange(5)}}),
        ("", {"spec": image}),
        ("", {"spec": {"paused": True}}),
        ("", {"spec": {"paused": False}}),
        ("", {"metadata": {"labels": {"seed": str(seed)}}}),
        ("/status", {"status": {"conditions": None}}),
    ]
    for _ in range(8):
        part, patch = chance.choice(acts)
        api.patch(f"{PATH}/web{part}", patch)
        driver.run(chance.choice([0.3, 3, 30]))
    assert left_out

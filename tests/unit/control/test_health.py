"""The loop stays healthy: settings taken up while it runs, retries held back, Deciders that raise, write loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import pytest
from msgspec import structs

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.control.instructions import Answers, Call, PlaneEvent, Report
from fairlead.control.roster import default_deciders
from fairlead.decision.contract import NOTHING, Decision, Reading
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.ensure import ensure_field, ensure_status
from fairlead.decision.wakes import itself
from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS
from fairlead.port.outcome import Unknown
from fairlead.port.request import Reply, Request
from fairlead.runtime.queues_told import scheduler_queue
from fairlead.sim.zoo.status_write_loop import chatty
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS as PATH
from tests.unit.control.test_plane import deployment


class Tolerant(Driver):
    """Collects errors of Deciders as a real driver does."""

    expects_errors = True


SETTINGS = "/apis/fairlead.dev/v1/planesettings"


def set_plane(api: InProcess, **spec: Any) -> dict[str, Any]:
    body = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "PlaneSettings",
        "metadata": {"name": "default"},
        "spec": spec,
    }
    status, made = api.post(SETTINGS, body)
    assert status == 201, made
    return dict(made)


def about_deployments(
    decide: Callable[[Reading, Key, float], Decision] = lambda view, key, now: NOTHING,
    name: str = "deployment",
) -> Decider:
    """A Decider about Deployments; a test says what it does with one."""
    return Decider(name=name, reads=(DEPLOYMENTS,), wakes=(Wake(DEPLOYMENTS, itself),), decide=decide)


# Settings


def test_settings_are_taken_up_at_once_and_shown_as_in_use() -> None:
    api = InProcess()
    driver = Driver(api)
    driver.run(5)
    queues = {each.decider.name: each.queue for each in driver.plane.controllers}
    assert queues["job"].settings.rate_per_second == 0
    made = set_plane(api, queues={"job": {"ratePerSecond": 20}}, controllers={"job": {"turnsMax": 2}})
    driver.run(0.5)
    assert queues["job"].settings.rate_per_second == 20
    assert queues["deployment"].settings.rate_per_second == 0
    assert {each.decider.name: each.settings.turns_max for each in driver.plane.controllers}["job"] == 2
    _, found = api.get(f"{SETTINGS}/default")
    (condition,) = found["status"]["conditions"]
    assert (found["status"]["observedGeneration"], condition["status"]) == (
        made["metadata"]["generation"],
        "True",
    )
    api.delete(f"{SETTINGS}/default")
    driver.run(0.5)
    assert queues["job"].settings.rate_per_second == 0
    assert driver.plane.health.settings.revision == 0


def test_the_scheduler_and_the_recorder_take_theirs_up_while_they_run() -> None:
    api = InProcess()
    driver = Driver(api)
    driver.run(5)
    placer = driver.plane.placer
    assert placer is not None
    api.post("/api/v1/namespaces/default/pods", unplaceable())
    driver.run(1)
    assert placer.waiting.counts()["unschedulable"] == 1
    set_plane(api, scheduler={"flushSeconds": 20, "batchMax": 3, "inFlightMax": 9}, events={"objectBurst": 2})
    driver.run(1)
    assert (placer.settings.batch_max, placer.settings.in_flight_max) == (3, 9)
    assert driver.plane.recorder.settings.object_burst == 2
    assert placer.attempts == 1
    driver.run(30)
    assert placer.attempts == 2, "tried again after 20 seconds, not after 300"
    shown = scheduler_queue(driver.plane, driver.now)
    assert shown is not None
    assert (shown["unschedulable"], shown["flushes"], shown["flushesNeeded"]) == (1, 1, 0)
    assert 31 <= shown["oldestSeconds"] <= 34
    api.delete(f"{SETTINGS}/default")
    driver.run(1)
    assert placer.waiting.settings.flush_seconds == 300


def unplaceable() -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1k"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "big"},
        "spec": {"containers": [container]},
    }


def test_a_plane_that_stands_by_takes_settings_up_too() -> None:
    api = InProcess()
    leader, follower = Driver(api), Driver(api, identity="other")
    leader.run(5)
    follower.run(5)
    set_plane(api, loop={"resyncSeconds": 1000}, breaker={"failuresMax": 3})
    follower.run(0.5)
    assert not follower.plane.leadership.leads
    assert follower.plane.health.settings.loop.resync_seconds == 1000
    assert follower.plane.health.breaker.settings.failures_max == 3


def test_records_name_the_settings_that_were_in_use() -> None:
    api = InProcess()
    driver = Driver(api)
    api.post(PATH, deployment(1))
    driver.run(10)
    assert all("settings" not in record for record in driver.records)
    set_plane(api, queues={"default": {"rateBurst": 5}})
    driver.run(5)
    driver.records.clear()
    api.patch(f"{PATH}/web", {"spec": {"replicas": 2}})
    driver.run(10)
    in_use = int(api.get(f"{SETTINGS}/default")[1]["metadata"]["resourceVersion"])
    # The scheduler names the revision of its policy instead.
    assert {record["settings"] for record in driver.records if "batch" not in record} == {in_use}


def test_a_change_of_the_resync_is_not_put_off_until_the_next_one() -> None:
    api = InProcess()
    driver = Driver(api)
    api.post(PATH, deployment(1))
    driver.run(10)
    set_plane(api, loop={"resyncSeconds": 5, "resyncSpreadSeconds": 1})
    driver.run(1)
    deployments = next(each for each in driver.plane.controllers if each.decider.name == "deployment")
    decided = deployments.decided
    driver.run(6)
    assert deployments.decided > decided


def test_settings_that_cannot_be_used_leave_those_before_in_use() -> None:
    """The API refuses such, but a store may hold what an older version let in."""
    api = InProcess()
    set_plane(api, loop={"resyncSeconds": 700})
    driver = Driver(api, deciders=(about_deployments(),))
    driver.run(1)
    found = driver.plane.mirrors["planesettings.fairlead.dev"].index.all()[0]
    wrong = structs.replace(found, spec={"loop": {"resyncSeconds": 0}})
    out: list[Any] = []
    driver.plane._use_settings(wrong, driver.now, out)
    (report,) = out
    assert isinstance(report, Report)
    assert "those in use stay: " in report.message
    assert "spec.loop.resyncSeconds" in report.message
    assert driver.plane.health.settings.loop.resync_seconds == 700


# A sick API


def status_writes(driver: Driver) -> list[Request]:
    return [each for each in driver.sent if each.subresource == "status"]


def reporting(name: str = "deployment") -> Decider:
    def decide(view: Reading, key: Key, now: float) -> Decision:
        found = view.get(DEPLOYMENTS, key.namespace, key.name)
        if found is None:
            return NOTHING
        wanted = type(found.status)(observed_generation=found.metadata.generation)
        status = ensure_status(name, DEPLOYMENTS, found, wanted)
        return Decision(effects=(status,) if status else ())

    return about_deployments(decide, name)


def refusing(api: InProcess) -> None:
    """Every write of a status is answered with 503 from now on."""
    real = api.send

    def send(request: Request, *rest: Any) -> Any:
        if request.subresource == "status":
            return Reply(
                503, b'{"kind":"Status","status":"Failure","reason":"ServiceUnavailable","message":"ill"}'
            )
        return real(request, *rest)

    api.send = send  # type: ignore[method-assign, assignment]


def test_retries_of_all_controllers_together_are_held_back() -> None:
    api = InProcess()
    budget = {"share": 0.0, "perSecond": 1.0, "burst": 5}
    set_plane(api, retryBudget=budget, breaker={"failuresMax": 1_000_000})
    for number in range(50):
        api.post(PATH, {**deployment(1), "metadata": {"name": f"web-{number}"}})
    driver = Driver(api, deciders=(reporting("deployment"), reporting("replicaset")))
    refusing(api)
    driver.run(20)
    # 100 first attempts are free; then what was saved, and one a second.
    assert 100 + 5 + 15 <= len(status_writes(driver)) <= 100 + 5 + 20
    assert len(driver.plane.health.budget.waiting) > 50
    assert {name for name, _ in driver.plane.health.budget.waiting} == {"deployment", "replicaset"}
    assert not driver.plane.idle


def test_what_was_held_back_goes_on_when_the_api_is_well_again() -> None:
    api = InProcess()
    set_plane(
        api, retryBudget={"share": 1.0, "perSecond": 0.5, "burst": 2}, breaker={"failuresMax": 1_000_000}
    )
    for number in range(20):
        api.post(PATH, {**deployment(1), "metadata": {"name": f"web-{number}"}})
    driver = Driver(api, deciders=(reporting(),))
    real = api.send
    refusing(api)
    driver.run(10)
    assert driver.plane.health.budget.waiting
    api.send = real  # type: ignore[method-assign]
    driver.run(10)
    _, found = api.get(PATH)
    assert all(each["status"]["observedGeneration"] == 1 for each in found["items"])
    assert not driver.plane.health.budget.waiting
    assert driver.plane.idle


def test_looks_after_unknown_outcomes_are_paid_from_the_budget() -> None:
    api = InProcess()
    set_plane(
        api,
        retryBudget={"share": 0.0, "perSecond": 1.0, "burst": 3},
        breaker={"failuresMax": 1_000_000},
        loop={"lookAgainSeconds": 0.01},
    )
    api.post(PATH, deployment(1))
    driver = Driver(
        api,
        lose=lambda request: "request" if request.subresource == "status" else "",
        deciders=(reporting(),),
    )
    handle = driver.plane.handle

    def deaf(event: PlaneEvent) -> Any:
        if isinstance(event, Answers):
            (reply,) = event.replies
            if reply.call in driver.plane.outgoing.callers:
                event = Answers((structs.replace(reply, outcome=Unknown("no answer")),))
        return handle(event)

    driver.plane.handle = deaf  # type: ignore[method-assign]
    driver.run(20)
    looks = [each for each in driver.sent if each.verb == "get" and each.plural == "deployments"]
    assert 3 + 15 <= len(looks) <= 3 + 20


# A Decider that raises


class Brittle:
    """Raises for Deployments that are called so."""

    def __init__(self, bad: str = "bad") -> None:
        self.bad = bad
        self.seen: list[str] = []

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        self.seen.append(key.name)
        if key.name == self.bad:
            raise ValueError(f"{key.name} has\n  too many legs")
        return NOTHING


def test_a_decider_that_raises_ends_one_turn_and_is_tried_again_a_few_times() -> None:
    api = InProcess()
    decider = Brittle()
    driver = Tolerant(api, deciders=(about_deployments(decider.decide),))
    for name in ("bad", "good"):
        api.post(PATH, {**deployment(1), "metadata": {"name": name}})
    driver.run(120)
    assert decider.seen.count("bad") == 8, "as often as raisedAttemptsMax says"
    assert decider.seen.count("good") == 1
    failed = [record for record in driver.records if record.get("reason") == "DeciderFailed"]
    assert len(failed) == 8
    assert (failed[0]["verdict"], failed[0]["message"]) == ("Stuck", "ValueError: bad has too many legs")
    (report,) = driver.reports
    assert isinstance(report.error, ValueError)
    assert report.error.__traceback__ is not None
    assert (
        report.message
        == "deployment failed at deployments.apps/default/bad: ValueError: bad has too many legs"
    )
    (controller,) = driver.plane.controllers
    assert (controller.raised, controller.stuck) == (8, 1)
    assert driver.plane.idle


def test_a_change_of_the_object_gives_it_new_attempts_and_success_forgets_the_old() -> None:
    api = InProcess()
    decider = Brittle()
    driver = Tolerant(api, deciders=(about_deployments(decider.decide),))
    api.post(PATH, {**deployment(1), "metadata": {"name": "bad"}})
    driver.run(120)
    api.patch(f"{PATH}/bad", {"spec": {"replicas": 2}})
    driver.run(1)
    assert decider.seen.count("bad") > 8
    decider.bad = "other"
    driver.run(60)
    (controller,) = driver.plane.controllers
    assert controller._raised == {}
    assert driver.plane.idle


@pytest.mark.parametrize("part", ["wakes", "unsettled", "refused"])
def test_whatever_part_of_a_decider_raises_the_plane_goes_on(part: str) -> None:
    api = InProcess()

    def fail(*arguments: object) -> NoReturn:
        raise LookupError(part)

    broken = {
        "wakes": replace(reporting(), wakes=(Wake(DEPLOYMENTS, fail),)),
        "unsettled": replace(reporting(), unsettled=fail),
        "refused": replace(reporting(), refused=fail),
    }[part]
    sound = reporting("replicaset")
    driver = Tolerant(api, deciders=(broken, sound))
    api.post(PATH, deployment(1))
    if part == "refused":
        set_plane(api, retries={"default": {"attemptsMax": 1}})
        refusing(api)
    driver.run(30)
    assert [str(report.error) for report in driver.reports if report.controller == "deployment"] == [part]
    assert driver.plane.controllers[1].decided > 0
    assert driver.plane.idle


def speechless(view: Reading, key: Key, now: float) -> Decision:
    """Asks for an effect that no request can be made of."""
    found = view.get(DEPLOYMENTS, key.namespace, key.name)
    if found is None:
        return NOTHING
    change = ensure_field("deployment", found.metadata, DEPLOYMENTS, found, ("spec", "replicas"), 1, object())
    return Decision(effects=(change,) if change else ())


def test_an_effect_that_cannot_be_sent_is_tried_a_few_times_too() -> None:
    api = InProcess()
    driver = Tolerant(api, deciders=(about_deployments(speechless),))
    api.post(PATH, deployment(1))
    driver.run(120)
    (controller,) = driver.plane.controllers
    assert (controller.decided, controller.raised, controller.stuck) == (8, 8, 1)
    assert [type(report.error) for report in driver.reports] == [TypeError]
    assert driver.plane.idle


# Write loops


def stubborn(name: str, replicas: int) -> Decider:
    """Wants a number of replicas, whatever others want."""

    def decide(view: Reading, key: Key, now: float) -> Decision:
        found = view.get(DEPLOYMENTS, key.namespace, key.name)
        if found is None:
            return NOTHING
        meta, current = found.metadata, found.spec.replicas
        change = ensure_field(name, meta, DEPLOYMENTS, found, ("spec", "replicas"), current, replicas)
        return Decision(effects=(change,) if change else ())

    return about_deployments(decide, name)


def test_two_controllers_that_fight_over_a_field_are_found_and_slowed_down() -> None:
    api = InProcess()
    driver = Driver(api, deciders=(stubborn("deployment", 1), stubborn("replicaset", 2)))
    api.post(PATH, deployment(3))
    driver.run(30)
    loops = driver.plane.health.writes.loops(driver.now)
    assert {(loop.controller, loop.object, loop.fields) for loop in loops} == {
        (name, "deployments.apps/default/web", ("spec.replicas",)) for name in ("deployment", "replicaset")
    }
    told = [report.message for report in driver.reports]
    assert len(told) == 2, "each of them once"
    assert "deployment wrote the same to deployments.apps/default/web 21 times" in told[0]
    assert [record["reason"] for record in driver.records if record.get("reason") == "WriteLoop"] == [
        "WriteLoop"
    ] * 2
    writes = [request for request in driver.sent if request.plural == "deployments"]
    assert len(writes) < 42 + 2 * 40, "about one a second each, once they are found"


class Slow(Driver):
    """Answers to the ReplicaSet controller take a while."""

    def _do(self, instruction: Any) -> None:
        if isinstance(instruction, Call) and instruction.controller == "replicaset":
            self.now += 1.1
        super()._do(instruction)


def test_a_status_that_carries_the_time_of_its_writing_is_found() -> None:
    api = InProcess()
    deciders: list[Decider] = []
    for each in (*default_deciders(), hollow_decider("node-", 2)):
        deciders.append(chatty(each) if each.name == "replicaset" else each)
    driver = Slow(api, deciders=deciders)
    api.post(PATH, deployment(1))
    driver.run(300)
    assert {loop.controller for loop in driver.plane.health.writes.loops(driver.now)} == {"replicaset"}
    assert any(
        "replicaset wrote the same to replicasets.apps/default/web-" in each.message
        for each in driver.reports
    )


def test_a_rollout_is_no_loop() -> None:
    api = InProcess()
    driver = Driver(api)
    api.post(PATH, deployment(10))
    driver.run(60)
    api.patch(f"{PATH}/web", {"spec": {"template": {"metadata": {"labels": {"v": "2"}}}}})
    driver.run(120)
    assert driver.plane.health.writes.found == 0
    assert driver.reports == []

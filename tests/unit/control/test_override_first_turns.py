"""The status of an override names the first decision that each controller made under it, and who fails at it."""

from __future__ import annotations

import dataclasses
from typing import Any

from fairlead.control.roster import default_deciders
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS, deployment
from tests.unit.reconcile.world import CONTROLLERS

OVERRIDES = "/apis/fairlead.dev/v1/namespaces/default/scheduleroverrides"
BY = "observed.fairlead.dev/"


def override(name: str = "calm", target: str = "deployment/web", **changes: Any) -> dict[str, Any]:
    spec = {"target": target, "reason": "a drill", "expiresAfter": "10m", "changes": changes}
    kind = {"apiVersion": "fairlead.dev/v1", "kind": "SchedulerOverride"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def conditions(api: InProcess, name: str = "calm") -> dict[str, dict[str, Any]]:
    found = api.get(f"{OVERRIDES}/{name}")[1]
    return {each["type"].removeprefix(BY): each for each in found["status"]["conditions"]}


def without(name: str, deciders: tuple[Decider, ...]) -> tuple[Decider, ...]:
    """The same, of which one fails in every turn."""

    def fail(view: Reading, key: Key, now: float) -> Decision:
        raise LookupError("a fault")

    return tuple(dataclasses.replace(each, decide=fail) if each.name == name else each for each in deciders)


def test_the_first_decision_under_it_is_named_and_is_one_about_its_target() -> None:
    api = InProcess()
    driver = Driver(api, user=CONTROLLERS)
    api.post(DEPLOYMENTS, deployment(1))
    driver.run(10)
    before = len(driver.records)
    api.post(OVERRIDES, override(pauseRollout=True, pauseAutoscaler=True))
    driver.run(5)
    told = conditions(api)
    first = next(
        each
        for each in driver.records[before:]
        if each["controller"] == "deployment" and each["object"].endswith("/default/web")
    )
    assert told["deployment"]["message"] == (
        f"by test; its first decision under it is {first['id']}, about deployments.apps/default/web"
    )
    assert told["autoscaler"]["message"] == "by test, which had nothing to decide under it yet"
    assert told["SchedulerOverrideObserved"]["status"] == "True"
    written = len(api.published)
    driver.run(30)
    leases = "leases.coordination.k8s.io"
    assert [each for each in api.published[written:] if each.entry.key.resource != leases] == []


def test_a_controller_that_fails_in_every_turn_has_not_observed_it() -> None:
    api = InProcess()
    driver = Driver(api, deciders=without("deployment", default_deciders()), user=CONTROLLERS)
    driver.expects_errors = True
    api.post(DEPLOYMENTS, deployment(1))
    driver.run(10)
    api.post(OVERRIDES, override(pauseRollout=True))
    driver.run(5)
    told = conditions(api)
    assert (told["deployment"]["status"], told["deployment"]["reason"]) == ("False", "Failing")
    assert "LookupError: a fault" in told["deployment"]["message"]
    assert told["SchedulerOverrideObserved"]["message"] == "not yet by deployment"


def test_another_leader_begins_anew() -> None:
    api = InProcess()
    first = Driver(api, identity="first", user=CONTROLLERS)
    api.post(DEPLOYMENTS, deployment(1))
    api.post(OVERRIDES, override(pauseRollout=True))
    first.run(10)
    assert conditions(api)["deployment"]["message"].startswith("by first; its first decision")
    first.stopped = True
    api.now = first.now + 60
    second = Driver(api, identity="second", user=CONTROLLERS)
    second.run(60)
    term = second.plane.health.term.name
    assert conditions(api)["deployment"]["message"].startswith(
        f"by second; its first decision under it is {term}-"
    )

"""What is told of a plane that does not do its work: nobody leads, a mirror lags, controllers raise or are behind."""

from __future__ import annotations

from fairlead.cache.lag import MirrorLag
from fairlead.control.diagnosis import BREAKER, CHECKS, CONTROLLERS, LEADER, MIRRORS, diagnose
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_health import about_deployments
from tests.unit.control.test_plane import DEPLOYMENTS as PATH
from tests.unit.control.test_plane import deployment

WELL = dict.fromkeys(CHECKS, "")


def told(
    driver: Driver, lags: dict[str, MirrorLag] | None = None, failed: str = "", since: float = 0.0
) -> dict[str, str]:
    return {each.name: each.problem for each in diagnose(driver.plane, lags or {}, driver.now, since, failed)}


def broken(name: str) -> Decider:
    def decide(view: Reading, key: Key, now: float) -> Decision:
        raise LookupError("a fault")

    return about_deployments(decide, name)


def idle(name: str) -> Decider:
    return about_deployments(lambda view, key, now: Decision(), name)


def test_a_plane_that_leads_and_keeps_up_is_well() -> None:
    driver = Driver(InProcess(), deciders=(idle("deployment"),))
    driver.run(5)
    assert told(driver) == WELL


def test_a_plane_that_has_just_begun_is_not_accused_and_one_that_cannot_lead_is() -> None:
    driver = Driver(InProcess(), deciders=(idle("deployment"),))  # nothing of what it asks for is carried out
    driver.now += 5
    assert told(driver, since=driver.now - 5) == WELL
    assert told(driver)[LEADER] == "nobody leads: test is standby"


def test_while_another_leads_all_is_well_until_that_one_is_silent() -> None:
    api = InProcess()
    first = Driver(api, deciders=(idle("deployment"),), identity="first")
    first.run(2)
    second = Driver(api, deciders=(idle("deployment"),), identity="second")
    second.run(2)
    assert not second.plane.leadership.leads
    assert told(second)[LEADER] == ""
    second.now += 40
    assert told(second)[LEADER] == "nobody leads: second is standby; first did until 42 s ago"


def test_a_mirror_that_lags_is_named_with_how_much() -> None:
    driver = Driver(InProcess(), deciders=(idle("deployment"),))
    driver.run(5)
    lags = {"pods": MirrorLag(3, 9.0), "nodes": MirrorLag(134, 12.0, "Expired")}
    assert told(driver, lags)[MIRRORS] == "nodes is 12.0 s and 134 revisions behind: Expired"


def test_a_controller_that_raises_is_named_and_the_object_is_not() -> None:
    api = InProcess()
    driver = Driver(api, deciders=(broken("deployment"), idle("replicaset")))
    driver.expects_errors = True
    api.post(PATH, deployment(3))
    driver.run(2)
    problem = told(driver)[CONTROLLERS]
    assert problem.startswith("deployment raises errors (")
    assert "web" not in problem
    assert "replicaset" not in problem


def test_a_controller_whose_copies_lag_is_behind_with_them() -> None:
    driver = Driver(InProcess(), deciders=(idle("deployment"),))
    driver.run(5)
    lags = {DEPLOYMENTS.name: MirrorLag(2, 61.0)}
    assert told(driver, lags)[CONTROLLERS] == "deployment is 61 s and 0 keys behind"


def test_an_open_breaker_is_told() -> None:
    driver = Driver(InProcess(), deciders=(idle("deployment"),))
    driver.run(5)
    for _ in range(driver.plane.health.breaker.settings.failures_max):
        driver.plane.health.breaker.failed(driver.now)
    assert told(driver)[BREAKER].startswith("the API does not answer the controllers")


def test_of_a_dead_plane_only_its_death_is_told() -> None:
    driver = Driver(InProcess(), deciders=(idle("deployment"),))
    driver.run(5)
    found = told(driver, failed="LookupError")
    assert {name for name, problem in found.items() if "failed (LookupError)" in problem} == {
        LEADER,
        MIRRORS,
        CONTROLLERS,
    }

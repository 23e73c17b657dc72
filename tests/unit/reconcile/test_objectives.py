"""The controller of objectives: changes of availability are written down, and the budget that is spent is told once."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.views.objectives import account_of
from fairlead.reconcile import objectives
from fairlead.reconcile.objectives import objective_decider
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

OBJECTIVES = "/apis/fairlead.dev/v1/namespaces/default/servicelevelobjectives"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def promise(kind: str = "Deployment", objective: float = 99.0, window: int = 1000) -> dict[str, Any]:
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "ServiceLevelObjective",
        "metadata": {"name": "web"},
        "spec": {"target": {"kind": kind, "name": "web"}, "objective": objective, "windowSeconds": window},
    }


def deployment(replicas: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


@pytest.fixture
def driver() -> Driver:
    driver = Driver(InProcess(), deciders=(objective_decider(),))
    driver.run(1)
    return driver


def available(driver: Driver, number: int) -> None:
    body = {"status": {"replicas": 3, "readyReplicas": number, "availableReplicas": number}}
    code, found = driver.api.patch(f"{DEPLOYMENTS}/web/status", body)
    assert code == 200, found


def status(driver: Driver) -> dict[str, Any]:
    _, found = driver.api.get(f"{OBJECTIVES}/web")
    told: dict[str, Any] = found.get("status") or {}
    return told


def levels(driver: Driver) -> list[tuple[int, int]]:
    return [(each.get("available", 0), each.get("wanted", 0)) for each in status(driver)["changes"]]


def conditions(driver: Driver) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in status(driver)["conditions"]}


def test_each_change_of_availability_is_written_down_and_nothing_else(driver: Driver) -> None:
    driver.api.post(OBJECTIVES, promise())
    driver.run(1)
    assert levels(driver) == [(0, 0)]
    assert conditions(driver)["Available"] == ("Unknown", "NothingWanted")
    driver.api.post(DEPLOYMENTS, deployment(3))
    driver.run(1)
    available(driver, 2)
    driver.run(1)
    available(driver, 3)
    driver.run(1)
    assert levels(driver) == [(0, 0), (0, 3), (2, 3), (3, 3)]
    assert conditions(driver) == {"Available": ("True", "Complete"), "Met": ("True", "WithinBudget")}
    assert status(driver)["observedGeneration"] == 1
    writes = len(driver.sent)
    driver.run(3600)
    written = [each for each in driver.sent[writes:] if each.plural == "servicelevelobjectives"]
    assert written == [], "time goes by, and nothing is written for that"


def test_a_budget_that_is_spent_is_told_at_that_instant_and_when_it_is_so_no_longer(driver: Driver) -> None:
    driver.api.post(DEPLOYMENTS, deployment(3))
    available(driver, 3)
    driver.api.post(OBJECTIVES, promise())  # may miss 10 seconds of 1000
    driver.run(10)
    available(driver, 0)
    driver.run(9)
    assert conditions(driver)["Met"][0] == "True"
    driver.run(2)
    assert conditions(driver) == {"Available": ("False", "Lacking"), "Met": ("False", "BudgetSpent")}
    available(driver, 3)
    driver.run(5)
    assert conditions(driver) == {"Available": ("True", "Complete"), "Met": ("False", "BudgetSpent")}
    driver.run(1000)
    assert conditions(driver)["Met"] == ("True", "WithinBudget")
    _, events = driver.api.get("/api/v1/namespaces/default/events")
    assert sorted(each["reason"] for each in events["items"]) == ["BudgetSpent", "WithinBudget"]


def test_a_service_is_available_with_one_ready_endpoint(driver: Driver) -> None:
    driver.api.post(
        "/api/v1/namespaces/default/services",
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"ports": [{"port": 80}]},
        },
    )
    driver.run(1)
    driver.api.post(OBJECTIVES, promise("Service"))
    driver.run(1)
    assert levels(driver) == [(0, 1)]
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    slice_ = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}],
        "ports": [],
    }
    assert driver.api.post(slices, slice_)[0] == 201
    driver.run(1)
    assert levels(driver) == [(0, 1)]
    ready = {"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}]}
    assert driver.api.patch(f"{slices}/web-1", ready)[0] == 200
    driver.run(1)
    assert levels(driver) == [(0, 1), (1, 1)]


def test_the_status_is_bounded_and_what_was_missed_is_not_forgotten(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objectives, "CHANGES_KEPT_MAX", 8)
    driver.api.post(DEPLOYMENTS, deployment(3))
    driver.api.post(OBJECTIVES, promise(objective=50.0, window=100_000))
    driver.run(1)
    for _ in range(20):
        available(driver, 0)
        driver.run(10)
        available(driver, 3)
        driver.run(10)
    found = status(driver)
    assert len(found["changes"]) <= 8
    account = account_of(*_views(driver))
    assert account.spent(driver.now) * account.budget == pytest.approx(201, abs=2)
    assert found["earlier"]["until"] == found["changes"][0]["at"]


def _views(driver: Driver) -> Any:
    (found,) = driver.plane.mirrors["servicelevelobjectives.fairlead.dev"].index.all()
    return found.spec, found.status


def test_objectives_of_others_are_not_looked_at(driver: Driver) -> None:
    driver.api.post(OBJECTIVES, promise())
    driver.run(1)
    (controller,) = driver.plane.controllers
    before = controller.decided
    other = deployment(1)
    other["metadata"]["name"] = "other"
    driver.api.post(DEPLOYMENTS, other)
    driver.run(1)
    assert controller.decided == before


def test_instants_do_not_go_back_where_another_planes_clock_was_ahead(driver: Driver) -> None:
    driver.api.post(OBJECTIVES, promise())
    driver.api.post(DEPLOYMENTS, deployment(3))
    driver.run(10)
    ahead = [*status(driver)["changes"], {"at": "2037-01-01T00:00:00.000000Z", "available": 2, "wanted": 3}]
    code, found = driver.api.patch(f"{OBJECTIVES}/web/status", {"status": {"changes": ahead}})
    assert code == 200, found
    available(driver, 3)
    driver.run(10)
    instants = [each["at"] for each in status(driver)["changes"]]
    assert (levels(driver)[-1], instants) == ((3, 3), sorted(instants))

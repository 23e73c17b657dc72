"""The ServiceAccount `default`: in every namespace, made anew when it is deleted, and not where all is going."""

from __future__ import annotations

import pytest

from fairlead.control.roster import default_deciders
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

SPACES = "/api/v1/namespaces"


def accounts(plane: InProcess, namespace: str) -> dict[str, str]:
    found = plane.get(f"{SPACES}/{namespace}/serviceaccounts")[1]["items"]
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in found}


@pytest.fixture
def driver() -> Driver:
    driver = Driver(InProcess(), deciders=default_deciders())
    driver.run(30)
    return driver


def space(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def test_namespaces_that_were_there_and_new_ones_have_it(driver: Driver) -> None:
    driver.api.post(SPACES, space("late"))
    driver.run(5)
    for name in ("default", "kube-system", "late"):
        assert list(accounts(driver.api, name)) == ["default"]


def test_one_that_is_deleted_is_made_anew(driver: Driver) -> None:
    before = accounts(driver.api, "default")
    assert driver.api.delete(f"{SPACES}/default/serviceaccounts/default")[0] == 200
    driver.run(5)
    after = accounts(driver.api, "default")
    assert list(after) == ["default"]
    assert after != before


def test_others_are_left_to_those_who_made_them(driver: Driver) -> None:
    address = f"{SPACES}/default/serviceaccounts"
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    assert driver.api.post(address, made)[0] == 201
    assert driver.api.patch(f"{address}/default", {"imagePullSecrets": [{"name": "x"}]})[0] == 200
    driver.run(5)
    assert driver.api.get(f"{address}/default")[1]["imagePullSecrets"] == [{"name": "x"}]
    driver.api.delete(f"{address}/robot")
    driver.run(5)
    assert list(accounts(driver.api, "default")) == ["default"]


def test_a_namespace_that_is_going_goes_with_it_and_for_good(driver: Driver) -> None:
    driver.api.post(SPACES, space("short"))
    driver.run(5)
    driver.api.delete(f"{SPACES}/short")
    driver.run(30)
    assert driver.api.get(f"{SPACES}/short")[0] == 404
    assert accounts(driver.api, "short") == {}


def test_settled_it_writes_nothing(driver: Driver) -> None:
    before = [each for each in driver.api.published if each.entry.key.resource == "serviceaccounts"]
    driver.run(120)
    after = [each for each in driver.api.published if each.entry.key.resource == "serviceaccounts"]
    assert len(after) == len(before) == 2

"""Each namespace has the certificate of the API's authority, as it is in kube-system."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.control.roster import default_deciders
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

SPACES = "/api/v1/namespaces"
NAME = "kube-root-ca.crt"
SOURCE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": NAME},
    "data": {"ca.crt": "PEM"},
}


def held(driver: Driver, namespace: str) -> Any:
    return driver.api.get(f"{SPACES}/{namespace}/configmaps/{NAME}")[1].get("data")


def space(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@pytest.fixture
def driver() -> Driver:
    driver = Driver(InProcess(), deciders=default_deciders())
    driver.api.post(f"{SPACES}/kube-system/configmaps", SOURCE)
    driver.api.post(SPACES, space("shop"))
    driver.run(30)
    return driver


def test_each_namespace_gets_a_copy_and_gets_it_back(driver: Driver) -> None:
    copy = f"{SPACES}/shop/configmaps/{NAME}"
    assert (held(driver, "shop"), held(driver, "default")) == ({"ca.crt": "PEM"}, {"ca.crt": "PEM"})
    driver.api.patch(copy, {"data": {"ca.crt": "forged", "more": "x"}})
    driver.run(5)
    assert held(driver, "shop") == {"ca.crt": "PEM"}
    driver.api.delete(copy)
    driver.run(5)
    assert held(driver, "shop") == {"ca.crt": "PEM"}


def test_a_new_certificate_reaches_all_however_many(driver: Driver) -> None:
    for number in range(40):
        driver.api.post(SPACES, space(f"space-{number}"))
    driver.run(10)
    driver.api.patch(f"{SPACES}/kube-system/configmaps/{NAME}", {"data": {"ca.crt": "NEW"}})
    driver.run(10)
    assert {held(driver, f"space-{number}")["ca.crt"] for number in range(40)} == {"NEW"}


def test_without_a_source_there_are_no_copies() -> None:
    driver = Driver(InProcess(), deciders=default_deciders())
    driver.run(10)
    assert driver.api.get(f"{SPACES}/default/configmaps/{NAME}")[0] == 404

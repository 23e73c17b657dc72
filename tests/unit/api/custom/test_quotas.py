"""ResourceQuotas that count objects of custom kinds: charged at creation, refused beyond, counted again as they go."""

from __future__ import annotations

import pytest

from fairlead.control.roster import default_deciders
from fairlead.decision.effects import ChangeStatus
from fairlead.model.key import Key
from fairlead.model.views import RESOURCE_QUOTAS
from fairlead.reconcile.resource_quota import resource_quota_decider
from tests.inprocess import InProcess
from tests.unit.api.custom.definitions import CRDS, CRONTABS, GROUP, Json, crontab, definition, version
from tests.unit.control.driving import Driver
from tests.unit.reconcile.world import NAMESPACE, World

QUOTAS = "/api/v1/namespaces/default/resourcequotas"
COUNT = f"count/crontabs.{GROUP}"


@pytest.fixture
def driver() -> Driver:
    driver = Driver(InProcess(), deciders=default_deciders())
    driver.run(30)
    driver.api.post(CRDS, definition(version(), version("v2", storage=False)))
    driver.run(5)
    return driver


def quota(**hard: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {COUNT: "2", **hard}},
    }


def used(plane: InProcess) -> Json:
    found: Json = plane.get(f"{QUOTAS}/few")[1]["status"].get("used", {})
    return found


def test_they_are_charged_refused_and_counted_again(driver: Driver) -> None:
    plane = driver.api
    plane.post(CRONTABS, crontab("before"))
    plane.post(QUOTAS, quota())
    driver.run(5)
    assert used(plane) == {COUNT: "1"}
    assert plane.post(CRONTABS.replace("/v1/", "/v2/"), crontab("b", "v2"))[0] == 201  # in whichever version
    assert used(plane) == {COUNT: "2"}
    status, refused = plane.post(CRONTABS, crontab("c"))
    assert status == 403
    assert refused["message"] == (
        f'crontabs.{GROUP} "c" is forbidden: exceeded quota: few, requested: {COUNT}=1, used: {COUNT}=2, '
        f"limited: {COUNT}=2"
    )
    plane.delete(f"{CRONTABS}/b")
    driver.run(5)
    assert used(plane) == {COUNT: "1"}
    assert plane.post(CRONTABS, crontab("c"))[0] == 201


def test_when_the_definition_goes_nothing_is_counted(driver: Driver) -> None:
    plane = driver.api
    plane.post(QUOTAS, quota(configmaps="5"))
    for name in ("a", "b"):
        plane.post(CRONTABS, crontab(name))
    assert used(plane) == {COUNT: "2", "configmaps": "0"}
    plane.delete(f"{CRDS}/crontabs.{GROUP}")
    driver.run(30)
    assert plane.get(f"{CRDS}/crontabs.{GROUP}")[0] == 404
    assert used(plane) == {COUNT: "0", "configmaps": "0"}


def test_what_is_not_mirrored_stays_as_it_was_told() -> None:
    """Beside an API whose custom kinds the plane does not follow: whoever counts them there has said."""
    world = World()
    world.add(RESOURCE_QUOTAS, "q", spec={"hard": {COUNT: "9", "pods": "5"}})
    key = Key(RESOURCE_QUOTAS.name, NAMESPACE, "q")
    status = {"hard": {COUNT: "9", "pods": "5"}, "used": {COUNT: "3", "pods": "4"}}
    world.overwrite(key, lambda quota: quota.update(status=status))  # our own API counts by itself
    (effect,) = world.decide(resource_quota_decider(), key).effects
    assert isinstance(effect, ChangeStatus)
    assert effect.patch["status"]["used"] == {COUNT: "3", "pods": "0"}

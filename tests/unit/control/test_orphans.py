"""Owners that go without their dependents: they wait until every kind is shown up to their deletion, and no longer."""

from __future__ import annotations

import pytest

from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS, deployment

MAPS = "/api/v1/namespaces/default/configmaps"
SETS = "/apis/apps/v1/namespaces/default/replicasets"


def test_it_goes_at_once_where_watches_tell_how_far_they_are() -> None:
    api = InProcess()
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(1))
    driver.run(30)
    api.delete(f"{DEPLOYMENTS}/web?propagationPolicy=Orphan")
    driver.run(0.5)
    assert api.get(f"{DEPLOYMENTS}/web")[0] == 404
    [left] = api.get(SETS)[1]["items"]
    assert "ownerReferences" not in left["metadata"]
    driver.run(60)
    assert len(api.get(SETS)[1]["items"]) == 1


@pytest.mark.parametrize("every", [0.3, 0.9])
def test_whoever_writes_the_owner_meanwhile_keeps_it_from_nothing(every: float) -> None:
    api = InProcess()
    driver = Driver(api)
    driver.run(10)
    meta = {"name": "own", "finalizers": ["example.com/x"]}
    api.post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    driver.run(5)
    api.delete(f"{MAPS}/own?propagationPolicy=Orphan")
    for number in range(10):
        api.patch(f"{MAPS}/own", {"data": {"n": str(number)}})
        driver.run(every)
    assert api.get(f"{MAPS}/own")[1]["metadata"]["finalizers"] == ["example.com/x"]

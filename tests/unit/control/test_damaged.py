"""Controllers beside an object that is damaged in the store: what depends on it waits and names it, until people end it."""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.store.contract import DELETED
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS, deployment

GIVE_UP = "ignoreStoreReadErrorWithClusterBreakingPotential=true"


def settled() -> InProcess:
    api = InProcess()
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(3))
    driver.run(30)
    assert len(driver.live_pods()) == 3
    return api


def restarted(api: InProcess, *damaged: Key) -> Driver:
    """A plane that starts on a journal of which these decayed."""
    for key in damaged:
        api.journal.rot(key, api.now)
    api.store._durable.reload(api.journal.recover())
    api.published.clear()
    return Driver(api)


def deleted(api: InProcess) -> list[Key]:
    return [
        each.entry.key
        for each in api.published
        if each.type == DELETED and each.entry.key.resource != "events"
    ]


def warned(api: InProcess) -> list[dict[str, Any]]:
    _, found = api.get("/api/v1/events")
    return [each for each in found["items"] if each["reason"] == "Unreadable"]


def test_a_replicaset_does_not_replace_a_damaged_pod_and_names_it_until_it_is_given_up() -> None:
    api = settled()
    pods = [entry.key for entry in api.store.list("pods")]
    driver = restarted(api, pods[0])
    api.delete(f"/api/v1/namespaces/default/pods/{pods[1].name}?gracePeriodSeconds=0")
    driver.run(60)
    assert [key for key in deleted(api) if key.resource == "pods"] == [pods[1]]
    assert len(api.store.list("pods")) == 2, (
        "the one that is gone is not replaced: it is not known who owns the other"
    )
    told = [each for each in warned(api) if each["involvedObject"]["kind"] == "ReplicaSet"]
    assert pods[0].name in told[0]["message"]
    assert api.delete(f"/api/v1/namespaces/default/pods/{pods[0].name}?{GIVE_UP}")[0] == 200
    driver.run(60)
    assert len(driver.live_pods()) == 3


def test_a_damaged_pod_holds_up_nothing_in_other_namespaces() -> None:
    api = settled()
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    assert api.post("/api/v1/namespaces", space)[0] == 201
    assert api.post(DEPLOYMENTS.replace("default", "shop"), deployment(2))[0] == 201
    Driver(api).run(30)
    pods = [entry.key for entry in api.store.list("pods")]
    driver = restarted(api, next(key for key in pods if key.namespace == "default"))
    scaled = {"spec": {"replicas": 4}}
    for namespace in ("default", "shop"):
        address = f"{DEPLOYMENTS.replace('default', namespace)}/web"
        assert api.patch(address, scaled)[0] == 200
    driver.run(60)
    pods = [entry.key for entry in api.store.list("pods")]
    assert [key.namespace for key in pods] == ["default"] * 3 + ["shop"] * 4
    told = {each["involvedObject"].get("namespace", "") for each in warned(api)}
    assert "default" in told
    assert "shop" not in told


def test_pods_that_a_damaged_quota_refuses_are_waited_for_and_the_damage_is_named() -> None:
    api = settled()
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    quotas = "/api/v1/namespaces/default/resourcequotas"
    assert api.post(quotas, {**quota, "spec": {"hard": {"pods": "9"}}})[0] == 201
    Driver(api).run(30)
    driver = restarted(api, Key("resourcequotas", "default", "q"))
    assert api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 4}})[0] == 200
    driver.run(60)
    assert len(driver.live_pods()) == 3
    assert {each.decider.name: each.unknown for each in driver.plane.controllers if each.unknown} == {}
    conditions = api.get(f"{DEPLOYMENTS}/web")[1]["status"]["conditions"]
    (told,) = [each for each in conditions if each["type"] == "fairlead.dev/WaitingFor"]
    assert told["reason"] == "WaitingForResourceQuota"
    assert "resourcequotas default/q is damaged in the store" in told["message"]
    assert api.delete(f"{quotas}/q?{GIVE_UP}")[0] == 200
    driver.run(5)
    assert len(driver.live_pods()) == 4


def test_garbage_collection_leaves_what_a_damaged_object_owns() -> None:
    api = settled()
    owner = Key("deployments.apps", "default", "web")
    driver = restarted(api, owner, *[entry.key for entry in api.store.list("replicasets.apps")])
    driver.run(120)
    assert deleted(api) == []
    assert len(api.store.list("pods")) == 3


def test_a_namespace_waits_for_what_is_damaged_in_it() -> None:
    api = InProcess()
    Driver(api).run(5)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    assert api.post("/api/v1/namespaces", space)[0] == 201
    for name in ("one", "two"):
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        assert api.post("/api/v1/namespaces/shop/configmaps", made)[0] == 201
    driver = restarted(api, Key("configmaps", "shop", "two"))
    assert api.delete("/api/v1/namespaces/shop")[0] == 200
    driver.run(60)
    assert api.store.get(Key("namespaces", "", "shop")) is not None
    assert api.store.get(Key("configmaps", "shop", "two")) is not None
    assert any("configmaps/shop/two" in each["message"] for each in warned(api))
    assert api.delete(f"/api/v1/namespaces/shop/configmaps/two?{GIVE_UP}")[0] == 200
    driver.run(60)
    assert api.store.get(Key("namespaces", "", "shop")) is None

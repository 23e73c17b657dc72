"""Definitions that go, objects that go with them, and owners on both sides; decided by a plane."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.control.roster import serving_deciders
from fairlead.port.request import Request
from tests.inprocess import InProcess
from tests.unit.api.custom.definitions import CRDS, CRONTABS, GROUP, Json, crontab, definition, version
from tests.unit.control.driving import Driver

NAME = f"crontabs.{GROUP}"
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def driver() -> Driver:
    driver = Driver(InProcess(), deciders=serving_deciders())
    driver.run(30)
    return driver


def owner(plane: InProcess, name: str = "a") -> Json:
    uid = plane.get(f"{CRONTABS}/{name}")[1]["metadata"]["uid"]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "CronTab",
        "name": name,
        "uid": uid,
        "blockOwnerDeletion": True,
    }


def config_map(name: str, *owners: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": list(owners)},
    }


def names(plane: InProcess, address: str) -> list[str]:
    return [each["metadata"]["name"] for each in plane.get(address)[1].get("items", ())]


def test_its_objects_go_first_and_then_the_definition(driver: Driver) -> None:
    plane = driver.api
    plane.post(CRDS, definition())
    plane.post(CRONTABS, crontab("a"))
    plane.post(
        CRONTABS, {**crontab("held"), "metadata": {"name": "held", "finalizers": ["example.com/wait"]}}
    )
    driver.run(5)
    status, found = plane.delete(f"{CRDS}/{NAME}")
    assert (status, found["metadata"]["finalizers"]) == (200, ["customresourcecleanup.apiextensions.k8s.io"])
    status, refused = plane.post(CRONTABS, crontab("late"))
    assert (status, refused["message"]) == (
        405, "create not allowed while custom resource definition is terminating",
    )  # fmt: skip
    driver.run(5)
    assert names(plane, CRONTABS) == ["held"]
    told = {each["type"]: each for each in plane.get(f"{CRDS}/{NAME}")[1]["status"]["conditions"]}[
        "Terminating"
    ]
    assert (told["status"], told["reason"]) == ("True", "InstanceDeletionInProgress")
    assert "1 left, waiting for example.com/wait" in told["message"]
    status, said = plane.patch(f"{CRDS}/{NAME}", {"metadata": {"finalizers": None}}, "merge-patch")
    assert (status, said["reason"]) == (409, "Conflict"), "nobody could find what is left afterwards"
    plane.patch(f"{CRONTABS}/held", {"metadata": {"finalizers": None}}, "merge-patch")
    driver.run(5)
    assert plane.get(f"{CRDS}/{NAME}")[0] == plane.get(CRONTABS)[0] == 404
    assert not plane.store.list(NAME)
    assert NAME not in driver.plane.mirrors


@pytest.mark.parametrize(("policy", "left"), [("Background", []), ("Foreground", []), ("Orphan", ["child"])])
def test_a_custom_object_owns_others_as_any_owner_does(driver: Driver, policy: str, left: list[str]) -> None:
    plane = driver.api
    plane.post(CRDS, definition())
    plane.post(CRONTABS, crontab())
    plane.post(MAPS, config_map("child", owner(plane)))
    driver.run(5)
    plane.delete(f"{CRONTABS}/a", {"propagationPolicy": policy})
    driver.run(5)
    assert names(plane, CRONTABS) == []
    assert names(plane, MAPS) == left
    if left:
        assert "ownerReferences" not in plane.get(f"{MAPS}/child")[1]["metadata"]


def test_a_custom_object_goes_after_its_owner(driver: Driver) -> None:
    plane = driver.api
    plane.post(CRDS, definition())
    made = plane.post(MAPS, config_map("owner"))[1]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": made["metadata"]["uid"]}
    plane.post(CRONTABS, {**crontab(), "metadata": {"name": "a", "ownerReferences": [reference]}})
    driver.run(5)
    assert names(plane, CRONTABS) == ["a"]
    plane.delete(f"{MAPS}/owner")
    driver.run(5)
    assert names(plane, CRONTABS) == []


def test_what_the_objects_of_a_deleted_definition_owned_goes_as_well(driver: Driver) -> None:
    plane = driver.api
    plane.post(CRDS, definition())
    plane.post(CRONTABS, crontab())
    plane.post(MAPS, config_map("child", owner(plane)))
    plane.post(MAPS, config_map("free"))
    plane.delete(f"{CRDS}/{NAME}")
    driver.run(10)
    assert plane.get(f"{CRDS}/{NAME}")[0] == 404
    assert names(plane, MAPS) == ["free"]


def test_a_namespace_takes_custom_objects_along(driver: Driver) -> None:
    plane = driver.api
    plane.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    plane.post(CRDS, definition())
    plane.post(CRONTABS.replace("default", "team"), crontab())
    plane.post(CRONTABS, crontab("stays"))
    plane.delete("/api/v1/namespaces/team")
    driver.run(10)
    assert plane.get("/api/v1/namespaces/team")[0] == 404
    assert [each.key.name for each in plane.store.list(NAME)] == ["stays"]


def test_a_name_that_becomes_free_is_taken_by_who_waits_for_it(driver: Driver) -> None:
    plane = driver.api
    plane.post(CRDS, definition())
    plane.post(CRDS, definition(plural="ys", singular="y", kind="Y", shortNames=["ct"]))
    address = f"/apis/{GROUP}/v1/namespaces/default/ys"
    assert plane.get(address)[0] == 404
    plane.delete(f"{CRDS}/{NAME}")
    driver.run(10)
    assert plane.get(address)[0] == 200
    found: Any = plane.get(f"{CRDS}/ys.{GROUP}")[1]["status"]
    assert {each["type"]: each["status"] for each in found["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }


def test_a_plane_that_starts_later_finds_the_kinds_that_are_there() -> None:
    plane = InProcess()
    plane.post(CRDS, definition())
    plane.post(CRONTABS, crontab())
    plane.post(MAPS, config_map("child", owner(plane)))
    driver = Driver(plane, deciders=serving_deciders())
    driver.run(30)
    assert NAME in driver.plane.mirrors
    assert names(plane, MAPS) == ["child"]
    plane.delete(f"{CRONTABS}/a")
    driver.run(5)
    assert names(plane, MAPS) == []
    written = len(driver.sent)
    driver.run(120)
    assert [each for each in driver.sent[written:] if each.plural != "leases"] == [], "at rest"


def test_a_kind_stays_until_what_its_objects_owned_is_dealt_with() -> None:
    """Deletions of the dependent are lost for a while; with the kind gone nobody could tell whose it was."""
    lost = 0

    def lose(request: Request) -> str:
        nonlocal lost
        if request.verb == "delete" and request.plural == "configmaps" and lost < 3:
            lost += 1
            return "request"
        return ""

    driver = Driver(InProcess(), lose, serving_deciders())
    driver.run(30)
    plane = driver.api
    plane.post(CRDS, definition())
    plane.post(CRONTABS, crontab())
    plane.post(MAPS, config_map("child", owner(plane)))
    plane.delete(f"{CRDS}/{NAME}")
    driver.run(300)
    assert lost == 3
    assert names(plane, MAPS) == []
    assert plane.get(f"{CRDS}/{NAME}")[0] == 404


def test_a_custom_kind_may_be_named_as_namespaces_are() -> None:
    plane = InProcess()
    spec: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec}}
    names = {"plural": "namespaces", "singular": "namespace", "kind": "Namespace"}
    plane.post(CRDS, definition(version(schema=schema), scope="Cluster", **names))
    at = f"/apis/{GROUP}/v1/namespaces"
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Namespace", "metadata": {"name": "a"}}
    assert plane.post(at, {**body, "spec": {"finalizers": ["x"]}})[0] == 201
    plane.delete(f"{at}/a")
    assert plane.get(f"{at}/a")[0] == 404, "nobody would ever take that away"

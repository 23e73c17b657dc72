"""An object that is damaged in the store: named, not absent, in nobody's way, and people can end it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.api.access.users import User
from fairlead.api.claims import CLAIMS
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.port.request import Request
from fairlead.store.damage import stand_in
from tests.inprocess import InProcess

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def configmap(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


def rot(plane: InProcess, key: Key) -> None:
    """As after a restart on a journal that decayed."""
    plane.journal.rot(key, plane.now)
    plane.store._durable.reload(plane.journal.recover())
    plane.published.clear()


@pytest.fixture
def plane() -> InProcess:
    plane = InProcess()
    for name in ("one", "two", "three"):
        assert plane.post(MAPS, configmap(name))[0] == 201
    rot(plane, Key("configmaps", "default", "two"))
    return plane


def test_it_is_named_with_the_remedy_by_all_who_ask_for_it(plane: InProcess) -> None:
    asked = [
        plane.get(f"{MAPS}/two"),
        plane.put(f"{MAPS}/two", configmap("two")),
        plane.patch(f"{MAPS}/two", {"data": {"a": "c"}}),
        plane.delete(f"{MAPS}/two"),
        plane.post(MAPS, configmap("two")),
    ]
    for status, answer in asked:
        assert status == 500
        assert answer["reason"] == "StorageReadError"
        assert "configmaps default/two is damaged in the store" in answer["message"]
        assert "restore a backup, or delete it with" in answer["message"]
    assert plane.published == []


@pytest.mark.parametrize(
    "accept", ["application/json", TABLE, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"]
)
def test_its_neighbours_are_listed_and_it_is_not_absent(plane: InProcess, accept: str) -> None:
    status, answer = plane.get(MAPS, accept=accept)
    assert status == 200
    if accept == TABLE:
        assert [row["cells"][0] for row in answer["rows"]] == ["one", "three", "two"]
        assert answer["rows"][2]["cells"][1] == "<damaged>"
    else:
        found = {each["metadata"]["name"]: each for each in answer["items"]}
        assert list(found) == ["one", "three", "two"]
        assert (
            "not those that were written" in found["two"]["metadata"]["annotations"]["fairlead.dev/damaged"]
        )


def test_a_selector_does_not_make_it_absent(plane: InProcess) -> None:
    _, answer = plane.get(f"{MAPS}?labelSelector=app%3Dx")
    assert [each["metadata"]["name"] for each in answer["items"]] == ["two"]
    _, answer = plane.get(f"{MAPS}?fieldSelector=metadata.name%3Done")
    assert [each["metadata"]["name"] for each in answer["items"]] == ["one"]


@pytest.mark.parametrize("kind", list(CATALOG), ids=lambda kind: kind.resource)
def test_a_stand_in_of_any_kind_fits_into_a_table(kind: Any) -> None:
    from fairlead.api.tables import table_of

    head = f'{{"apiVersion":"{kind.stored_api_version}","kind":"{kind.kind}","metadata":{{"resourceVersion":"'
    data = stand_in(Key(kind.resource, "default", "x"), 7, "u", "why", head.encode()).data
    data = data if kind.presented is None else kind.presented(data)
    rows = json.loads(table_of(kind, [data], {}, "Metadata", 0.0, "meta.k8s.io/v1", headings=True))["rows"]
    assert "x" in rows[0]["cells"]


def test_deleting_a_collection_leaves_it(plane: InProcess) -> None:
    assert plane.delete(MAPS)[0] == 200
    assert [each.key.name for each in plane.store.list("configmaps", "default")] == ["two"]
    assert {change.entry.key.name for change in plane.published} == {"one", "three"}


def test_who_may_everything_can_give_it_up_and_then_its_name_is_free(plane: InProcess) -> None:
    option = "ignoreStoreReadErrorWithClusterBreakingPotential=true"
    viewer = User("viewer", groups=("system:viewers", "system:authenticated"))
    assert plane.delete(f"{MAPS}/two?{option}", user=viewer)[0] == 403
    assert plane.delete(f"{MAPS}/two?{option}")[0] == 200
    assert [(each.type, each.entry.key.name) for each in plane.published] == [("DELETED", "two")]
    assert plane.store.damaged == {}
    assert plane.get(f"{MAPS}/two")[0] == 404
    assert plane.post(MAPS, configmap("two"))[0] == 201
    lines = [
        json.loads(note.body) for _, _, note in plane.journal.notes("audit", 0, 1000) if b'"two"' in note.body
    ]
    assert [each["verb"] for each in lines][-2:] == ["delete", "create"]


def test_the_option_in_the_body_is_the_same_and_does_no_harm_to_what_is_sound(plane: InProcess) -> None:
    body = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "ignoreStoreReadErrorWithClusterBreakingPotential": True,
    }
    assert plane.delete(f"{MAPS}/one", body)[0] == 200
    assert plane.delete(f"{MAPS}/two", body)[0] == 200
    assert [each.key.name for each in plane.store.list("configmaps", "default")] == ["three"]


def test_a_namespace_that_is_damaged_takes_nothing_and_is_named(plane: InProcess) -> None:
    rot(plane, Key("namespaces", "", "default"))
    status, answer = plane.post(MAPS, configmap("four"))
    assert (status, answer["reason"]) == (500, "StorageReadError")
    assert "namespaces default is damaged" in answer["message"]


def test_what_a_damaged_quota_allows_is_not_known(plane: InProcess) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"configmaps": "9"}},
    }
    assert plane.post("/api/v1/namespaces/default/resourcequotas", quota)[0] == 201
    rot(plane, Key("resourcequotas", "default", "q"))
    status, answer = plane.post(MAPS, configmap("four"))
    assert status == 500
    assert "resourcequotas default/q is damaged" in answer["message"]


def test_whose_an_address_is_whose_claim_is_damaged_is_not_known(plane: InProcess) -> None:
    services = "/api/v1/namespaces/default/services"
    service: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"ports": [{"port": 80}]},
    }
    status, made = plane.post(services, service)
    assert status == 201
    (claim,) = (entry.key for entry in plane.store.list(CLAIMS, "") if entry.uid == made["metadata"]["uid"])
    rot(plane, claim)
    other = {
        **service,
        "metadata": {"name": "b"},
        "spec": {**service["spec"], "clusterIP": made["spec"]["clusterIP"]},
    }
    status, answer = plane.post(services, other)
    assert status == 500
    assert "is damaged" in answer["message"]


def test_a_fence_that_rests_on_it_holds_nothing(plane: InProcess) -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "me"},
    }
    assert plane.post("/apis/coordination.k8s.io/v1/namespaces/default/leases", lease)[0] == 201
    key = Key("leases.coordination.k8s.io", "default", "l")
    entry = plane.store.get(key)
    assert entry is not None
    rot(plane, key)
    fence = f"leases.coordination.k8s.io/default/l@{entry.revision}"
    status, answer = plane.post(f"{MAPS}?fence={fence}", configmap("four"))
    assert status == 500, answer
    assert "leases.coordination.k8s.io default/l is damaged" in answer["message"]


def test_nobody_can_write_the_annotation(plane: InProcess) -> None:
    made = configmap("four")
    made["metadata"]["annotations"] = {"fairlead.dev/damaged": "not really"}
    status, answer = plane.post(MAPS, made)
    assert status == 422
    assert "only the server says so" in answer["message"]


def test_a_watch_from_before_the_damage_is_not_told_that_it_is_gone(plane: InProcess) -> None:
    watch = plane.send(Request("watch", "", "v1", "configmaps", namespace="default"))
    assert [each.key.name for each in watch.initial] == ["one", "three", "two"]  # type: ignore[union-attr]

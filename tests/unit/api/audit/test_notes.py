"""The line of audit rides in the transaction of its write: who, verb, object, revisions, which fields; no values."""

from __future__ import annotations

import json
from typing import Any

from fairlead.api.access.users import User
from tests.inprocess import InProcess
from tests.unit.api.things import (
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    configmap,
    deployment,
    made,
    notes,
    pod,
    sample,
)

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def _last(plane: InProcess) -> Any:
    return json.loads(notes(plane)[-1])


def test_a_line_says_who_did_what_to_which_object() -> None:
    plane = InProcess()
    created = made(plane, DEPLOYMENTS, deployment())
    line = _last(plane)
    assert (line["user"], line["verb"], line["code"]) == ("admin", "create", 201)
    assert line["object"] == {
        "group": "apps",
        "resource": "deployments",
        "namespace": "default",
        "name": "web",
        "uid": created["metadata"]["uid"],
    }
    assert (line["userAgent"], line["sourceIP"]) == ("test", "127.0.0.1")


def test_a_line_names_the_revisions_and_the_fields_that_changed() -> None:
    plane = InProcess()
    created = made(plane, DEPLOYMENTS, deployment())
    plane.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 9}, "metadata": {"labels": {"a": "b"}}})
    line = _last(plane)
    assert line["verb"] == "patch"
    assert line["revisionBefore"] == int(created["metadata"]["resourceVersion"])
    assert set(line["changed"]) == {"metadata.labels", "metadata.generation", "spec.replicas"}
    _, _, note = plane.journal.notes("audit", 0, 1000)[-1]
    assert note.revision == plane.store.revision


def test_each_kind_of_write_leaves_its_line() -> None:
    plane = InProcess()
    made(plane, PODS, pod())
    made(plane, CONFIGMAPS, configmap())
    made(plane, CONFIGMAPS, configmap("second"))
    before = len(notes(plane))
    plane.put(f"{CONFIGMAPS}/settings", {**configmap(), "data": {}})
    plane.patch(f"{PODS}/web/status", {"status": {"message": "hello"}})
    plane.post(f"{PODS}/web/binding", {"target": {"name": "node-1"}})
    plane.delete(f"{PODS}/web")
    plane.delete(CONFIGMAPS)
    lines = [json.loads(note) for note in notes(plane)[before:]]
    said = [(line["verb"], line["object"]["name"], line["object"].get("subresource", "")) for line in lines]
    assert said == [
        ("update", "settings", ""),
        ("patch", "web", "status"),
        ("create", "web", "binding"),
        ("delete", "web", ""),
        ("delete", "second", ""),
        ("delete", "settings", ""),
    ]


def test_what_changes_nothing_leaves_no_line() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    before = notes(plane)
    plane.put(f"{CONFIGMAPS}/settings", configmap())
    plane.post(CONFIGMAPS, configmap())
    plane.post(CONFIGMAPS, configmap("Bad Name"))
    plane.get(CONFIGMAPS)
    assert notes(plane) == before


def test_a_write_that_loses_a_race_leaves_the_line_of_the_one_that_won() -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    commit = plane.commit

    def meanwhile(transaction: Any) -> Any:
        plane.commit = commit  # type: ignore[method-assign]
        plane.patch(f"{CONFIGMAPS}/settings", {"data": {"theirs": "1"}})
        return commit(transaction)

    before = len(notes(plane))
    plane.commit = meanwhile  # type: ignore[method-assign]
    plane.patch(f"{CONFIGMAPS}/settings", {"data": {"mine": "1"}})
    changed = [json.loads(note)["changed"] for note in notes(plane)[before:]]
    assert changed == [["data.theirs"], ["data.mine"]]


def test_heartbeats_are_counted_and_not_recorded() -> None:
    plane = InProcess()
    lease = sample("Lease")
    made(plane, LEASES, lease)
    before = notes(plane)
    for second in range(5):
        renewed = {"spec": {"renewTime": f"2026-05-05T05:05:0{second}.000000Z"}}
        assert plane.patch(f"{LEASES}/node-1", renewed)[0] == 200
    assert notes(plane) == before
    assert sum(plane.desk.audit.counters.values()) == 5
    plane.patch(f"{LEASES}/node-1", {"spec": {"holderIdentity": "another"}})
    assert _last(plane)["changed"] == ["spec.holderIdentity"]


def test_a_refused_write_can_be_told_without_its_values() -> None:
    plane = InProcess()
    viewer = User("looker", groups=("system:authenticated",))
    status, body = plane.post(CONFIGMAPS, configmap(), user=viewer)
    assert (status, body["reason"]) == (403, "Forbidden")
    assert 'User "looker" cannot create resource "configmaps"' in body["message"]
    assert plane.get(CONFIGMAPS)[1]["items"] == []


def test_the_end_of_a_namespace_is_told() -> None:
    plane = InProcess()
    made(plane, NAMESPACES, {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}})
    plane.delete(f"{NAMESPACES}/shop")
    assert _last(plane)["verb"] == "delete"
    plane.put(f"{NAMESPACES}/shop/finalize", {"spec": {"finalizers": []}})
    line = _last(plane)
    assert (line["verb"], line["object"]["subresource"], line["changed"]) == (
        "update",
        "finalize",
        ["spec.finalizers[0]"],
    )
    assert plane.get(f"{NAMESPACES}/shop")[0] == 404

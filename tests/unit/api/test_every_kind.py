"""One life of each kind: made, read, listed, replaced, patched in three ways, given a status, deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.model.kind import Kind
from tests.inprocess import InProcess
from tests.unit.api.things import KINDS, METADATA, NAMESPACES, TABLE, collection, made, need, sample

ALL = sorted(KINDS)
# The status of an override is the plane's alone (tests/unit/api/test_overrides.py).
WITH_STATUS = sorted(
    name for name, kind in KINDS.items() if "status" in kind.subresources and name != "SchedulerOverride"
)


# A status that the kind's validation lets through.
STATUSES: dict[str, Any] = {
    "CertificateSigningRequest": {"conditions": [{"type": "Denied", "status": "True", "reason": "Sample"}]},
    "AccessGrant": {"decision": "Revoked"},
    "Job": {"active": 1},
    "ResourceQuota": {"used": {"pods": "1"}},
    "CronJob": {"lastScheduleTime": "2026-01-02T03:04:05Z"},
    "EvidencePolicy": {"state": "Normal"},
    "RunbookRun": {"phase": "Running"},
}
COUNTED = (
    "ResourceQuota",
    "PlacementQuota",
    "CustomResourceDefinition",
    "AuditPolicy",
    "RecordingPolicy",
    "ChaosExperiment",
    "AccessGrant",
    "FlowSchema",
)  # their status is what the server counts, whatever is sent
SEEN: Any = {"conditions": [{"type": "Seen", "status": "True"}]}


def _plane(kind: Kind) -> InProcess:
    plane = InProcess()
    if kind.namespaced:
        made(plane, NAMESPACES, sample("Namespace"))
    need(plane, kind)
    return plane


def _all(kind: Kind) -> str:
    return collection(kind, "shop")


def _address(kind: Kind) -> str:
    return f"{_all(kind)}/{sample(kind.kind)['metadata']['name']}"


@pytest.mark.parametrize("name", ALL)
def test_a_sample_lives_and_dies(name: str) -> None:
    kind, plane = KINDS[name], _plane(KINDS[name])
    one = _address(kind)
    created = made(plane, _all(kind), sample(name))
    metadata = created["metadata"]
    assert (created["apiVersion"], created["kind"]) == (kind.api_version, kind.kind)
    assert metadata["creationTimestamp"] == timestamp(plane.now)
    assert metadata["resourceVersion"] == str(plane.store.revision)
    assert metadata.get("generation") == (1 if kind.generation else None)
    assert plane.get(one) == (200, created)

    status, listed = plane.get(_all(kind))
    assert (status, listed["kind"], listed["apiVersion"]) == (200, kind.list_kind, kind.api_version)
    assert created in listed["items"]

    assert plane.put(one, created) == (200, created), "the same again is no change"
    for media, change in (
        ("merge-patch", {"metadata": {"labels": {"one": "1"}}}),
        ("strategic-merge-patch", {"metadata": {"labels": {"two": "2"}}}),
        ("json-patch", [{"op": "add", "path": "/metadata/labels/three", "value": "3"}]),
    ):
        before = plane.store.revision
        status, patched = plane.patch(one, change, media)
        assert status == 200, patched
        assert patched["metadata"]["resourceVersion"] == str(plane.store.revision)
        assert plane.store.revision == before + 1
    assert {"one": "1", "two": "2", "three": "3"}.items() <= patched["metadata"]["labels"].items()
    assert patched["metadata"].get("generation") == metadata.get("generation"), (
        "a label is no change of intent"
    )
    assert {**patched, "metadata": None} == {**created, "metadata": None}

    status, _ = plane.delete(one, {"gracePeriodSeconds": 0})
    assert status == 200
    if kind.finalizers_spec:
        assert plane.get(one)[1]["status"]["phase"] == "Terminating"
    elif name == "CustomResourceDefinition":
        assert plane.get(one)[1]["status"]["conditions"][-1]["type"] == "Terminating"
    else:
        assert plane.get(one)[0] == 404


@pytest.mark.parametrize("name", ALL)
def test_every_form_is_given_for_every_kind(name: str) -> None:
    kind, plane = KINDS[name], _plane(KINDS[name])
    created = made(plane, _all(kind), sample(name))
    status, table = plane.get(_address(kind), accept=TABLE)
    assert (status, table["kind"], table["apiVersion"]) == (200, "Table", "meta.k8s.io/v1")
    (row,) = table["rows"]
    assert len(row["cells"]) == len(table["columnDefinitions"])
    assert row["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": created["metadata"],
    }
    status, partial = plane.get(_address(kind), accept=METADATA)
    assert (status, partial) == (200, row["object"])


@pytest.mark.parametrize("name", WITH_STATUS)
def test_status_has_its_own_address(name: str) -> None:
    kind, plane = KINDS[name], _plane(KINDS[name])
    one = _address(kind)
    created = made(plane, _all(kind), sample(name))
    status_wanted = {**created.get("status", {}), **STATUSES.get(name, SEEN)}
    wanted = {**created, "spec": {"ignored": True}, "status": status_wanted}
    given = {"labels": {"by": "status"}, "annotations": {"by": "status"}}
    wanted["metadata"] = {**created["metadata"], **given}
    status, after = plane.put(f"{one}/status", wanted)
    assert status == 200, after
    if name not in COUNTED:
        assert after["status"] == wanted["status"]
    assert after.get("spec") == created.get("spec"), "the status address changes no spec"
    for field in ("labels", "annotations"):
        found = after["metadata"].get(field) or {}
        if field in kind.status_metadata:
            assert found.items() >= given[field].items(), "as upstream's strategy for this kind has it"
        else:
            assert found == (created["metadata"].get(field) or {})
    assert after["metadata"].get("generation") == created["metadata"].get("generation")

    status, again = plane.put(one, {**after, "status": {"phase": "nonsense"}})
    assert (status, again["status"]) == (200, after["status"]), "the main address changes no status"
    assert plane.get(f"{one}/status") == (200, again)


@pytest.mark.parametrize("name", WITH_STATUS)
def test_a_status_sent_with_a_create_is_kept_only_where_the_kind_says_so(name: str) -> None:
    kind, plane = KINDS[name], _plane(KINDS[name])
    obj = sample(name)
    obj["status"] = {**obj.get("status", {}), "conditions": [{"type": "Sent", "status": "True"}]}
    created = made(plane, _all(kind), obj)
    kept = "Sent" in json.dumps(created.get("status", {}))
    assert kept is kind.status_on_create
    assert kind.status_on_create is (name == "Node")

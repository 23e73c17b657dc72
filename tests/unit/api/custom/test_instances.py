"""Objects of custom kinds through the API: what is stored of them, shown of them and said of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.api.plan import AGAIN, Plan, Watch
from fairlead.port.request import Reply, Request
from fairlead.store.contract import CommittedChange
from tests.inprocess import InProcess
from tests.unit.api.custom.definitions import CRDS, CRONTABS, GROUP, SPEC, Json, crontab, definition, version

NAME = f"crontabs.{GROUP}"
BETA = f"/apis/{GROUP}/v1beta1/namespaces/default/crontabs"
STATUS = {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}}}
BOTH: Json = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


def serving(*versions: Json, **more: Any) -> InProcess:
    plane = InProcess()
    status, found = plane.post(CRDS, definition(*versions, **more))
    assert status == 201, found
    return plane


def sent(plane: InProcess, body: Json, level: str) -> Reply:
    request = Request(
        "create",
        GROUP,
        "v1",
        "crontabs",
        "default",
        query={"fieldValidation": level},
        body=json.dumps(body).encode(),
    )
    reply = plane.send(request)
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.parametrize(
    ("level", "status", "warnings"),
    [
        ("Ignore", 201, ()),
        ("Warn", 201, ('unknown field "spec.x"', 'unknown field "y"')),
        ("Strict", 400, ()),
    ],
)
def test_unknown_fields_are_dropped_or_refused_as_the_client_asks(
    level: str, status: int, warnings: Any
) -> None:
    plane = serving()
    reply = sent(plane, {**crontab(x=1), "y": {"z": 2}}, level)
    assert (reply.status, tuple(reply.warnings)) == (status, warnings)
    found = json.loads(reply.body)
    if status == 400:
        assert found["message"].endswith('strict decoding error: unknown field "spec.x", unknown field "y"')
    else:
        assert found["spec"] == {"cronSpec": "* * * * *", "image": "idle"}
        assert "y" not in found


def test_metadata_is_that_of_all_kinds() -> None:
    plane = serving()
    status, found = plane.post(CRONTABS, {**crontab(), "metadata": {"name": "a", "labels": {"k": 5}}})
    assert (status, found["reason"]) == (400, "BadRequest")
    assert "metadata.labels[k]" in found["message"]
    assert plane.post(CRONTABS, {**crontab(), "metadata": {"name": "No"}})[0] == 422
    assert plane.post(CRONTABS, {**crontab(), "metadata": {"name": "a", "stranger": 1}})[0] == 201


def test_generation_counts_changes_of_all_but_metadata_and_a_status_with_its_own_address() -> None:
    plane = serving(version(schema=BOTH, subresources={"status": {}}))
    one = f"{CRONTABS}/a"
    plane.post(CRONTABS, {**crontab(), "status": {"replicas": 1}})
    assert "status" not in plane.get(one)[1]
    steps = [
        ("/status", {"status": {"replicas": 2}}, 1),
        ("", {"metadata": {"labels": {"a": "b"}}}, 1),
        ("", {"status": {"replicas": 9}}, 1),
        ("", {"spec": {"replicas": 2}}, 2),
        ("/status", {"spec": {"replicas": 3}}, 2),
    ]
    for subresource, change, generation in steps:
        status, found = plane.patch(one + subresource, change, "merge-patch")
        assert (status, found["metadata"]["generation"]) == (200, generation), (subresource, change)
    found = plane.get(one)[1]
    assert (found["spec"]["replicas"], found["status"]) == (2, {"replicas": 2})


def test_without_such_an_address_a_status_is_a_field_like_others() -> None:
    plane = serving(version(schema=BOTH))
    plane.post(CRONTABS, {**crontab(), "status": {"replicas": 1}})
    assert plane.get(f"{CRONTABS}/a")[1]["status"] == {"replicas": 1}
    found = plane.patch(f"{CRONTABS}/a", {"status": {"replicas": 2}}, "merge-patch")[1]
    assert (found["status"], found["metadata"]["generation"]) == ({"replicas": 2}, 2)
    assert plane.get(f"{CRONTABS}/a/status")[0] == 404


def test_scale_reads_and_writes_where_the_definition_says() -> None:
    plane = serving(version(schema=BOTH, subresources={"status": {}, "scale": SCALE}))
    plane.post(CRONTABS, crontab(replicas=2))
    plane.patch(f"{CRONTABS}/a/status", {"status": {"replicas": 1, "selector": "app=x"}}, "merge-patch")
    scale = plane.get(f"{CRONTABS}/a/scale")[1]
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1, "selector": "app=x"})
    scale["spec"]["replicas"] = 5
    assert plane.put(f"{CRONTABS}/a/scale", scale)[0] == 200
    assert plane.get(f"{CRONTABS}/a")[1]["spec"]["replicas"] == 5
    status, found = plane.patch(f"{CRONTABS}/a/scale", {"spec": {"replicas": 50}}, "merge-patch")
    assert status == 422, found


@pytest.mark.parametrize("spec", [None, {"size": None}, {"size": "x"}, {"size": {"replicas": "x"}}, {}])
@pytest.mark.parametrize(
    "seen", [{}, {"replicas": [1], "selector": {"matchExpressions": 5}}, {"replicas": "x"}]
)
def test_scale_is_a_number_whatever_there_is(spec: Any, seen: Json) -> None:
    opened: Json = {"type": "object", "nullable": True, "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": opened, "status": opened}}
    paths = {**SCALE, "specReplicasPath": ".spec.size.replicas"}
    plane = serving(version(schema=schema, subresources={"status": {}, "scale": paths}))
    plane.post(CRONTABS, {**crontab(), "spec": spec})
    plane.patch(f"{CRONTABS}/a/status", {"status": seen}, "merge-patch")
    status, scale = plane.get(f"{CRONTABS}/a/scale")
    assert (status, scale["spec"], scale["status"]) == (200, {"replicas": 0}, {"replicas": 0, "selector": ""})
    status, scale = plane.patch(f"{CRONTABS}/a/scale", {"spec": {"replicas": 2}}, "merge-patch")
    assert (status, scale["spec"]) == (200, {"replicas": 2})
    assert plane.get(f"{CRONTABS}/a")[1]["spec"] == {"size": {"replicas": 2}}


def test_a_conflict_of_scale_names_the_field_and_the_version_of_the_scale() -> None:
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    paths = {**SCALE, "specReplicasPath": ".spec.size"}
    schema = {"type": "object", "properties": {"spec": size}}
    plane = serving(version(schema=schema, subresources={"scale": paths}))
    plane.post(f"{CRONTABS}?fieldManager=maker", {**crontab(), "spec": {"size": 1}})
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "a"},
        "spec": {"replicas": 2},
    }
    applying: Json = {"content_type": "application/apply-patch+yaml"}
    status, refused = plane.request("PATCH", f"{CRONTABS}/a/scale?fieldManager=one", scale, **applying)
    assert (status, refused["message"]) == (
        409,
        'Apply failed with 1 conflict: conflict with "maker" using autoscaling/v1: .spec.replicas',
    )


@pytest.mark.parametrize(("media", "status"), [("strategic-merge-patch", 415), ("merge-patch", 200)])
def test_there_is_no_strategic_patch_of_custom_kinds(media: str, status: int) -> None:
    plane = serving()
    plane.post(CRONTABS, crontab())
    got, found = plane.patch(f"{CRONTABS}/a", {"spec": {"replicas": 2}}, media)
    assert got == status, found
    if status == 415:
        assert "application/json-patch+json, application/merge-patch+json; got" in found["message"]


def test_each_version_shows_and_takes_the_one_object_that_is_stored() -> None:
    plane = serving(version(), version("v1beta1"))
    plane.post(BETA, crontab("made-in-beta", "v1beta1"))
    plane.post(CRONTABS, crontab("made-in-v1"))
    assert all(f'"apiVersion":"{GROUP}/v1",'.encode() in each.data for each in plane.store.list(NAME))
    for address, wanted in ((CRONTABS, f"{GROUP}/v1"), (BETA, f"{GROUP}/v1beta1")):
        listed = plane.get(address)[1]
        assert {each["apiVersion"] for each in listed["items"]} == {listed["apiVersion"]} == {wanted}
        one = plane.get(f"{address}/made-in-v1")[1]
        assert one["apiVersion"] == wanted
        before = plane.store.revision
        assert plane.put(f"{address}/made-in-v1", one) == (200, one)
        assert plane.store.revision == before, "the same again is no change, in whatever version"
    changed = plane.patch(f"{BETA}/made-in-v1", {"spec": {"replicas": 2}}, "merge-patch")[1]
    assert changed["apiVersion"] == f"{GROUP}/v1beta1"
    watch = plane.send(Request("watch", GROUP, "v1beta1", "crontabs", "default"))
    assert isinstance(watch, Watch)
    assert watch.encode is not None
    frames = [
        json.loads(watch.encode("ADDED", CommittedChange("ADDED", each, None), 0.0)) for each in watch.initial
    ]
    assert {frame["object"]["apiVersion"] for frame in frames} == {f"{GROUP}/v1beta1"}


def test_what_was_stored_before_is_read_by_the_schema_of_today() -> None:
    plane = serving()
    plane.post(CRONTABS, crontab(replicas=2))
    later: Json = {
        **SPEC,
        "properties": {**SPEC["properties"], "suspend": {"type": "boolean", "default": False}},
    }
    del later["properties"]["replicas"]
    schema = {"type": "object", "properties": {"spec": later}}
    assert plane.put(f"{CRDS}/{NAME}", definition(version(schema=schema)))[0] == 200
    wanted = {"cronSpec": "* * * * *", "image": "idle", "suspend": False}
    assert plane.get(f"{CRONTABS}/a")[1]["spec"] == plane.get(CRONTABS)[1]["items"][0]["spec"] == wanted
    plane.patch(f"{CRONTABS}/a", {"metadata": {"labels": {"a": "b"}}}, "merge-patch")
    assert b'"suspend":false' in plane.store.list(NAME)[0].data


def test_what_was_written_in_another_version_is_read_by_the_schema_of_each() -> None:
    beta: Json = {**SPEC, "properties": {**SPEC["properties"], "zone": {"type": "string", "default": "utc"}}}
    mine: Json = {
        **SPEC,
        "properties": {**SPEC["properties"], "suspend": {"type": "boolean", "default": False}},
    }
    plane = serving(
        version(schema={"type": "object", "properties": {"spec": mine}}),
        version("v1beta1", {"type": "object", "properties": {"spec": beta}}),
    )
    plane.post(BETA, crontab(api_version="v1beta1"))
    common = {"cronSpec": "* * * * *", "image": "idle"}
    for address, more in ((CRONTABS, {"suspend": False}), (BETA, {"zone": "utc"})):
        wanted = {**common, **more}
        assert plane.get(f"{address}/a")[1]["spec"] == plane.get(address)[1]["items"][0]["spec"] == wanted


def test_a_version_that_is_no_longer_served_is_not_found() -> None:
    plane = serving(version(), version("v1beta1"))
    beta = version("v1beta1", served=False)
    assert plane.put(f"{CRDS}/{NAME}", definition(version(), beta))[0] == 200
    assert plane.get(BETA)[0] == 404
    assert plane.get(CRONTABS)[0] == 200


def test_a_deprecated_version_warns() -> None:
    plane = serving(version(deprecated=True, deprecationWarning="use v2"))
    assert tuple(sent(plane, crontab(), "Warn").warnings) == ("use v2",)


def test_embedded_objects_are_objects() -> None:
    held = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    schema = {"type": "object", "properties": {"held": held}}
    plane = serving(version(schema=schema))
    obj = {**crontab(), "held": {"kind": "Pod", "metadata": {"name": "x/y", "stranger": 1}, "free": {"a": 1}}}
    obj.pop("spec")
    status, found = plane.post(CRONTABS, obj)
    assert status == 422
    assert [each["field"] for each in found["details"]["causes"]] == ["held.apiVersion", "held.metadata.name"]
    obj["held"] = {**obj["held"], "apiVersion": "v1", "metadata": {"name": "x", "stranger": 1}}
    assert plane.post(CRONTABS, obj)[1]["held"] == {
        "kind": "Pod", "metadata": {"name": "x"}, "free": {"a": 1}, "apiVersion": "v1",
    }  # fmt: skip


def test_fields_that_the_definition_names_can_be_selected() -> None:
    plane = serving(version(selectableFields=[{"jsonPath": ".spec.image"}, {"jsonPath": ".spec.replicas"}]))
    plane.post(CRONTABS, crontab("a", image="x", replicas=1))
    plane.post(CRONTABS, crontab("b"))
    for selector, names in (("spec.image=x", ["a"]), ("spec.image=idle", ["b"]), ("spec.replicas=1", ["a"])):
        found = plane.get(f"{CRONTABS}?fieldSelector={selector}")[1]
        assert [each["metadata"]["name"] for each in found["items"]] == names
    assert plane.get(f"{CRONTABS}?fieldSelector=spec.cronSpec=x")[0] == 400


def test_objects_of_a_cluster_wide_kind_are_in_no_namespace() -> None:
    plane = serving(scope="Cluster")
    assert plane.post(f"/apis/{GROUP}/v1/crontabs", crontab())[0] == 201
    assert plane.get(CRONTABS)[0] == 404


def test_the_types_of_a_kind_are_in_the_tables_of_its_server_only() -> None:
    plane, other = serving(), InProcess()
    name = f"{GROUP}/v1.CronTab"
    assert set(plane.desk.tables[name].fields) == {"apiVersion", "kind", "metadata", "spec"}
    assert name not in other.desk.tables.types
    assert plane.desk.tables["Pod"] is other.desk.tables["Pod"]


def test_a_write_that_was_decided_by_the_former_schema_is_decided_again() -> None:
    plane = serving()
    plane.post(CRONTABS, crontab())
    body = json.dumps({"spec": {"replicas": 3}}).encode()
    request = Request(
        verb="patch",
        group=GROUP,
        version="v1",
        plural="crontabs",
        namespace="default",
        name="a",
        body=body,
        content_type="application/merge-patch+json",
    )
    plan = plane.plan(request)
    assert isinstance(plan, Plan)
    narrow = {**SPEC, "properties": {**SPEC["properties"], "replicas": {"type": "integer", "maximum": 2}}}
    plane.put(
        f"{CRDS}/{NAME}", definition(version(schema={"type": "object", "properties": {"spec": narrow}}))
    )
    assert plan.finish(plane.commit(plan.transaction)) is AGAIN
    reply = plane.send(request)
    assert isinstance(reply, Reply)
    assert reply.status == 422

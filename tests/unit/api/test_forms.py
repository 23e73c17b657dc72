"""In which form an answer comes: what Accept asks for, Tables and their rows, metadata alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.inprocess import InProcess
from tests.unit.api.things import CONFIGMAPS, METADATA, PODS, TABLE, configmap, made, pod

PROTOBUF = "application/vnd.kubernetes.protobuf"
ONE = f"{CONFIGMAPS}/settings"


def _plane() -> InProcess:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    return plane


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", "ConfigMap"),
        ("*/*", "ConfigMap"),
        ("application/*", "ConfigMap"),
        ("application/json", "ConfigMap"),
        ("application/json; charset=utf-8", "ConfigMap"),
        (f"{PROTOBUF},application/json", "ConfigMap"),
        (f"{PROTOBUF};as=Table;v=v1;g=meta.k8s.io,{TABLE},application/json", "Table"),
        (f"{TABLE},{TABLE.replace('v1', 'v1beta1')},application/json", "Table"),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", "Table"),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", "ConfigMap"),
        (f"application/json;q=0.5,{TABLE};q=0.9", "Table"),
        (f"*/*,{TABLE}", "Table"),
        (f"{TABLE};q=0,application/json", "ConfigMap"),
        ("application/json;q=nonsense", "ConfigMap"),
        ("APPLICATION/JSON", "ConfigMap"),
        ("application/cbor,application/json;q=0.1", "ConfigMap"),
        (f"{PROTOBUF}, */*", "ConfigMap"),
        ("application/json;stream=watch", "ConfigMap"),
        ("application/json;as=Table;v=v1;g=other.io,application/json", "ConfigMap"),
        (METADATA, "PartialObjectMetadata"),
        (f"{METADATA},application/json", "PartialObjectMetadata"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "ConfigMap"),
    ],
)
def test_the_first_form_that_can_be_given_is_given(accept: str, kind: str) -> None:
    status, body = _plane().get(ONE, accept=accept)
    assert (status, body["kind"]) == (200, kind)


@pytest.mark.parametrize(
    "accept",
    [
        PROTOBUF,
        "application/cbor",
        "text/plain",
        f"{PROTOBUF};as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=Chart;v=v1;g=meta.k8s.io",
        "application/json;q=0",
        "application/json;stream=songs",
        ",;,",
    ],
)
@pytest.mark.parametrize("target", [ONE, CONFIGMAPS, f"{CONFIGMAPS}/absent"])
def test_a_form_that_cannot_be_given_is_refused(accept: str, target: str) -> None:
    status, body = _plane().get(target, accept=accept)
    assert (status, body["reason"], body["code"]) == (406, "NotAcceptable", 406)
    assert (
        body["message"] == "only the following media types are accepted: application/json, application/yaml"
    )


@pytest.mark.parametrize("accept", [TABLE, METADATA])
@pytest.mark.parametrize("target", [ONE, CONFIGMAPS])
def test_older_clients_get_the_form_in_the_version_they_know(accept: str, target: str) -> None:
    status, body = _plane().get(target, accept=accept.replace("v=v1", "v=v1beta1"))
    assert (status, body["apiVersion"]) == (200, "meta.k8s.io/v1beta1")
    inner = [row["object"] for row in body.get("rows", [])] + body.get("items", [])
    assert {each["apiVersion"] for each in inner} <= {"meta.k8s.io/v1beta1"}


@pytest.mark.parametrize("target", [ONE, CONFIGMAPS])
@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("", "PartialObjectMetadata"),
        ("?includeObject=", "PartialObjectMetadata"),
        ("?includeObject=Metadata", "PartialObjectMetadata"),
        ("?includeObject=Object", "ConfigMap"),
        ("?includeObject=None", None),
    ],
)
def test_rows_carry_what_was_asked_for(target: str, query: str, kind: str | None) -> None:
    plane = _plane()
    status, table = plane.get(target + query, accept=TABLE)
    assert (status, table["kind"], table["apiVersion"]) == (200, "Table", "meta.k8s.io/v1")
    assert table["metadata"]["resourceVersion"] == str(plane.store.revision)
    (row,) = table["rows"]
    assert row.get("object", {}).get("kind") == kind
    assert row["cells"][:2] == ["settings", 1]


@pytest.mark.parametrize("target", [ONE, CONFIGMAPS])
def test_rows_cannot_carry_anything_else(target: str) -> None:
    plane = InProcess()
    made(plane, CONFIGMAPS, configmap())
    status, body = plane.get(f"{target}?includeObject=Everything", accept=TABLE)
    assert (status, "includeObject" in body["message"]) == (400, True)
    plane.delete(ONE)
    assert plane.get(f"{CONFIGMAPS}?includeObject=Everything", accept=TABLE)[0] == 400, (
        "also of an empty table"
    )


def test_a_list_of_metadata_is_a_list_of_metadata() -> None:
    status, body = _plane().get(CONFIGMAPS, accept=METADATA.replace("Metadata;", "MetadataList;"))
    assert (status, body["kind"], body["apiVersion"]) == (200, "PartialObjectMetadataList", "meta.k8s.io/v1")
    (item,) = body["items"]
    assert sorted(item) == ["apiVersion", "kind", "metadata"]


def test_columns_say_what_they_are() -> None:
    plane = InProcess()
    made(plane, PODS, pod())
    _, table = plane.get(PODS, accept=TABLE)
    names = [column["name"] for column in table["columnDefinitions"]]
    assert names[:5] == ["Name", "Ready", "Status", "Restarts", "Age"]
    assert {"name", "type", "format", "description", "priority"} <= set(table["columnDefinitions"][0])
    assert table["rows"][0]["cells"][:3] == ["web", "0/1", "Pending"]


@pytest.mark.parametrize("accept", [TABLE, METADATA])
def test_writes_answer_in_the_form_that_is_asked_for(accept: str) -> None:
    plane = InProcess()
    kind = "Table" if accept == TABLE else "PartialObjectMetadata"
    answers: list[tuple[int, Any]] = [
        plane.post(f"{CONFIGMAPS}?dryRun=All", configmap(), accept=accept),
        plane.post(CONFIGMAPS, configmap(finalizers=["example.com/hold"]), accept=accept),
        plane.put(ONE, configmap(), accept=accept),
        plane.patch(ONE, {"metadata": {"finalizers": ["example.com/hold"]}}, accept=accept),
        plane.delete(ONE, accept=accept),
    ]
    assert [(status, body["kind"]) for status, body in answers] == [
        (201, kind), (201, kind), (200, kind), (200, kind), (200, kind),
    ]  # fmt: skip

"""The OpenAPI documents say what kubectl looks for: merge keys, group-version-kinds, supported parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from fairlead.api.openapi.documents import groups, v2_document, v3_document
from fairlead.api.openapi.proto import encode_v2
from fairlead.model.catalog import Catalog
from fairlead.model.files import load_tables
from fairlead.model.kind import Kind
from fairlead.model.served import Served
from fairlead.wire.openapi import OpenApi
from tests.samples import SAMPLES

TABLES = load_tables()
SCALED = ("Deployment", "ReplicaSet", "StatefulSet")
CLUSTER = ("Namespace", "Node", "PriorityClass", "PlaneSettings", "SchedulingPolicy")


def _kind(name: str) -> Kind:
    group, _, version = SAMPLES[name]["apiVersion"].rpartition("/")
    subresources: tuple[str, ...] = ("status", "scale") if name in SCALED else ("status",)
    if name == "Pod":
        subresources = ("status", "binding", "eviction")
    plural = name.lower() + ("es" if name.endswith("ss") else "s")
    return Kind(
        group=group,
        version=version,
        kind=name,
        plural=plural,
        namespaced=name not in CLUSTER,
        schema=name,
        subresources=subresources,
    )


KINDS = tuple(_kind(name) for name in SAMPLES)
GROUPS = groups(KINDS)


def _v3(path: str) -> dict[str, Any]:
    return v3_document(path, GROUPS[path], TABLES, "v1.32.0")


CORE = _v3("api/v1")
APPS = _v3("apis/apps/v1")
V2 = v2_document(KINDS, TABLES, "v1.32.0")
POD = "io.k8s.api.core.v1.Pod"


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _refs(item)


@pytest.mark.parametrize("path", GROUPS)
def test_every_reference_of_a_v3_document_resolves_inside_it(path: str) -> None:
    document = _v3(path)
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(_refs(document)) <= known


def test_every_reference_of_the_v2_document_resolves_inside_it() -> None:
    assert set(_refs(V2)) <= {f"#/definitions/{name}" for name in V2["definitions"]}


@pytest.mark.parametrize("schemas", [CORE["components"]["schemas"], V2["definitions"]], ids=["v3", "v2"])
def test_schemas_say_how_lists_merge(schemas: dict[str, Any]) -> None:
    spec = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert spec["containers"]["x-kubernetes-patch-merge-key"] == "name"
    assert spec["containers"]["x-kubernetes-list-map-keys"] == ["name"]
    assert spec["volumes"]["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    assert spec["tolerations"]["x-kubernetes-list-type"] == "atomic"
    assert spec["nodeSelector"]["x-kubernetes-map-type"] == "atomic"
    assert schemas["io.k8s.api.core.v1.PodSpec"]["required"] == ["containers"]
    port = schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]
    assert port["protocol"]["enum"] == ["TCP", "UDP", "SCTP"]
    assert port["protocol"]["default"] == "TCP"


def test_nothing_stands_beside_a_reference_in_v3() -> None:
    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                assert list(value) == ["$ref"]
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(APPS)
    strategy = APPS["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"]
    assert strategy["x-kubernetes-patch-strategy"] == "retainKeys"
    assert strategy["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy"}]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_kubectl_finds_a_kind_and_its_parameters_at_the_patch_operation(kind: Kind) -> None:
    wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    path = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
    found = [
        entry["patch"]
        for entry in _v3(path)["paths"].values()
        if entry.get("patch", {}).get("x-kubernetes-group-version-kind") == wanted
    ]
    assert found
    for operation in found:
        names = {parameter["name"] for parameter in operation["parameters"]}
        assert {"dryRun", "fieldValidation", "fieldManager", "force"} <= names


def test_schemas_know_their_group_version_kind() -> None:
    schemas = CORE["components"]["schemas"]
    assert schemas[POD]["x-kubernetes-group-version-kind"] == [{"group": "", "kind": "Pod", "version": "v1"}]
    assert schemas[f"{POD}List"]["x-kubernetes-group-version-kind"][0]["kind"] == "PodList"
    assert schemas[f"{POD}List"]["properties"]["items"]["items"] == {"$ref": f"#/components/schemas/{POD}"}


def test_paths_follow_scope_and_subresources() -> None:
    pods = "/api/v1/namespaces/{namespace}/pods"
    assert set(CORE["paths"][pods]) == {"parameters", "get", "post", "delete"}
    assert set(CORE["paths"]["/api/v1/pods"]) == {"parameters", "get"}
    assert set(CORE["paths"][f"{pods}/{{name}}"]) == {"parameters", "get", "put", "patch", "delete"}
    assert set(CORE["paths"][f"{pods}/{{name}}/binding"]) == {"parameters", "post"}
    assert "/api/v1/nodes/{name}" in CORE["paths"]
    scale = APPS["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]
    assert scale["get"]["x-kubernetes-group-version-kind"]["kind"] == "Scale"
    named = [parameter["name"] for parameter in scale["parameters"]]
    assert named == ["name", "namespace"]


@pytest.mark.parametrize("document", [CORE, APPS, V2], ids=["core", "apps", "v2"])
def test_operations_have_names_of_their_own(document: dict[str, Any]) -> None:
    names = [
        operation["operationId"]
        for entry in document["paths"].values()
        for method, operation in entry.items()
        if method != "parameters"
    ]
    assert len(names) == len(set(names))


def _document(documents: OpenApi, path: str) -> Any:
    found = documents.answer(path, "application/json", b"", None)
    return None if found is None else msgspec.json.decode(found[0].body)


def _index(documents: OpenApi) -> dict[str, str]:
    paths = _document(documents, "/openapi/v3")["paths"]
    return {path: entry["serverRelativeURL"] for path, entry in paths.items()}


def test_the_index_names_every_document_with_a_digest_that_follows_its_content() -> None:
    documents = OpenApi(Catalog(KINDS), TABLES, "v1.32.0")
    index = _index(documents)
    assert set(index) == set(GROUPS)
    for path, address in index.items():
        assert address.startswith(f"/openapi/v3/{path}?hash=")
        assert _document(documents, f"/openapi/v3/{path}")["openapi"] == "3.0.0"
    assert _document(documents, "/openapi/v2")["swagger"] == "2.0"
    assert _document(documents, "/openapi/v3/apis/example.com/v1") is None
    fewer = _index(OpenApi(Catalog(k for k in KINDS if k.kind != "Pod"), TABLES, "v1.32.0"))
    assert fewer["api/v1"] != index["api/v1"]
    assert fewer["apis/apps/v1"] == index["apis/apps/v1"]


def test_only_the_address_with_the_right_digest_may_be_kept_for_good() -> None:
    documents = OpenApi(Catalog(KINDS), TABLES, "v1.32.0")
    digest = _index(documents)["api/v1"].partition("hash=")[2]
    for asked, lasting in ((digest, True), ("0" * 32, False), (None, False)):
        _, headers = documents.answer("/openapi/v3/api/v1", "", b"", asked) or (None, b"")
        assert (b"immutable" in headers) is lasting
    known = f'"{digest}"'.encode()
    reply, _ = documents.answer("/openapi/v3/api/v1", "", known, None) or (None, b"")
    assert reply is not None
    assert (reply.status, reply.body) == (304, b"")


CRON_TAB = Kind(
    group="example.com", version="v1", kind="CronTab", plural="crontabs", namespaced=True, schema="example.com/v1.CronTab",
    openapi={
        "description": "times and what runs at them",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "cron": {"type": "string", "description": "when", "pattern": "^.*$", "maxLength": 20},
                    "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True,
                             "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    "maybe": {"type": "string", "nullable": True},
                    "share": {"type": "number", "maximum": 1.5, "exclusiveMaximum": True, "multipleOf": 0.5},
                    "many": {"type": "array", "items": {"type": "string"}, "minItems": 0, "uniqueItems": False},
                    "any": {"type": "array", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        },
    },
)  # fmt: skip


def test_a_custom_kind_comes_and_goes_and_only_its_documents_are_built_again() -> None:
    served = Served(KINDS)
    documents = OpenApi(served, TABLES, "v1.32.0")
    before = _index(documents)
    apps = documents.answer("/openapi/v3/apis/apps/v1", "", b"", None)
    served.serve("crontabs.example.com", [CRON_TAB])
    after = _index(documents)
    assert set(after) - set(before) == {"apis/example.com/v1"}
    assert {path: after[path] for path in before} == before
    again = documents.answer("/openapi/v3/apis/apps/v1", "", b"", None)
    assert apps is not None
    assert again is not None
    assert again[0].body is apps[0].body
    served.serve("crontabs.example.com", [replace(CRON_TAB, openapi={"type": "object"})])
    assert _index(documents)["apis/example.com/v1"] != after["apis/example.com/v1"]
    served.withdraw("crontabs.example.com")
    assert _index(documents) == before
    assert _document(documents, "/openapi/v3/apis/example.com/v1") is None


def test_a_custom_kind_is_published_as_its_definition_says() -> None:
    document = v3_document("apis/example.com/v1", [CRON_TAB], TABLES, "v1.32.0")
    schema = document["components"]["schemas"]["com.example.v1.CronTab"]
    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "kind": "CronTab", "version": "v1"}
    ]
    assert set(schema["properties"]) == {"apiVersion", "kind", "metadata", "spec"}
    assert schema["properties"]["spec"] == CRON_TAB.openapi["properties"]["spec"]  # type: ignore[index]
    many = document["components"]["schemas"]["com.example.v1.CronTabList"]
    assert many["properties"]["items"]["items"] == {"$ref": "#/components/schemas/com.example.v1.CronTab"}
    patch = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/crontabs/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    assert set(_refs(document)) <= {
        f"#/components/schemas/{name}" for name in document["components"]["schemas"]
    }


def test_version_2_says_nothing_of_what_a_custom_kind_leaves_open() -> None:
    definitions = v2_document([*KINDS, CRON_TAB], TABLES, "v1.32.0")["definitions"]
    spec = definitions["com.example.v1.CronTab"]["properties"]["spec"]["properties"]
    assert spec["cron"] == {"type": "string", "description": "when", "pattern": "^.*$", "maxLength": 20}
    assert spec["port"] == {"x-kubernetes-int-or-string": True}
    assert spec["free"] == {"x-kubernetes-preserve-unknown-fields": True, "required": ["a"]}
    assert spec["maybe"] == {}
    assert encode_v2(v2_document([*KINDS, CRON_TAB], TABLES, "v1.32.0"))


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of each field; everything in this form of the document is length-delimited."""
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    while position < len(data):
        key, size = varint(), varint()
        assert key & 7 == 2
        yield key >> 3, data[position : position + size]
        position += size


def _definition(name: str) -> list[tuple[int, bytes]]:
    document = dict(_messages(encode_v2(V2)))
    assert document[1] == b"2.0"
    named = [dict(_messages(entry)) for _, entry in _messages(document[9])]
    (found,) = (entry[2] for entry in named if entry[1] == name.encode())
    return list(_messages(found))


def test_the_protobuf_form_of_v2_holds_every_definition() -> None:
    definitions = dict(_messages(encode_v2(V2)))[9]
    names = {dict(_messages(entry))[1].decode() for _, entry in _messages(definitions)}
    assert names == set(V2["definitions"])
    assert {"io.k8s.api.authorization.v1.SubjectAccessReview", POD, f"{POD}List"} <= names


def test_the_protobuf_form_of_v2_keeps_kinds_requirements_and_merge_keys() -> None:
    pod = [dict(_messages(content)) for number, content in _definition(POD) if number == 31]
    (kind,) = (entry[2] for entry in pod if entry[1] == b"x-kubernetes-group-version-kind")
    assert dict(_messages(kind))[2] == b'[{"group":"","kind":"Pod","version":"v1"}]'
    spec = _definition("io.k8s.api.core.v1.PodSpec")
    assert [content for number, content in spec if number == 19] == [b"containers"]
    properties = [dict(_messages(entry)) for _, entry in _messages(dict(spec)[25])]
    (containers,) = (entry[2] for entry in properties if entry[1] == b"containers")
    beside = [dict(_messages(content)) for number, content in _messages(containers) if number == 31]
    keys = {entry[1].decode(): dict(_messages(entry[2]))[2] for entry in beside}
    assert keys["x-kubernetes-patch-merge-key"] == b'"name"'
    assert keys["x-kubernetes-patch-strategy"] == b'"merge"'


def test_the_protobuf_form_of_v2_drops_nothing_silently() -> None:
    document = {"swagger": "2.0", "info": {"title": "t", "version": "v"}, "definitions": {"A": {"oneOf": []}}}
    with pytest.raises(ValueError, match="no protobuf form is known for 'oneOf'"):
        encode_v2(document)


@pytest.mark.parametrize("name", TABLES.types)
def test_every_field_says_what_it_is(name: str) -> None:
    standard = ("apiVersion", "kind", "metadata")
    fields = TABLES[name].fields.values()
    assert [each.name for each in fields if not each.description and each.name not in standard] == []

"""The OpenAPI documents say what kubectl looks for: merge keys, group-version-kinds, supported parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.samples import SAMPLES

from fairlead.api.openapi import group_paths, render, v2_document, v3_document
from fairlead.model.files import load_tables
from fairlead.model.kind import Kind

TABLES = load_tables()
SCALED = ("Deployment", "ReplicaSet", "StatefulSet")
CLUSTER = ("Namespace", "Node", "PriorityClass")


def _kind(name: str) -> Kind:
    group, _, version = SAMPLES[name]["apiVersion"].rpartition("/")
    subresources = ("status", "scale") if name in SCALED else ("status",)
    if name == "Pod":
        subresources = ("status", "binding", "eviction")
    plural = name.lower() + ("es" if name.endswith("ss") else "s")
    return Kind(group, version, name, plural, name not in CLUSTER, name, subresources=subresources)


KINDS = tuple(_kind(name) for name in SAMPLES)
CORE = v3_document(KINDS, TABLES, "api/v1", "v1.32.0")
APPS = v3_document(KINDS, TABLES, "apis/apps/v1", "v1.32.0")
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


@pytest.mark.parametrize("path", group_paths(KINDS))
def test_every_reference_of_a_v3_document_resolves_inside_it(path: str) -> None:
    document = v3_document(KINDS, TABLES, path, "v1.32.0")
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
        for entry in v3_document(KINDS, TABLES, path, "v1.32.0")["paths"].values()
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


def test_the_index_names_every_document_with_a_digest_that_follows_its_content() -> None:
    documents = render(KINDS, TABLES, "v1.32.0")
    index = msgspec.json.decode(documents["/openapi/v3"])["paths"]
    assert set(index) == set(group_paths(KINDS))
    for path, entry in index.items():
        assert entry["serverRelativeURL"].startswith(f"/openapi/v3/{path}?hash=")
        assert f"/openapi/v3/{path}" in documents
    assert msgspec.json.decode(documents["/openapi/v2"])["swagger"] == "2.0"
    fewer = render([kind for kind in KINDS if kind.kind != "Pod"], TABLES, "v1.32.0")
    changed = msgspec.json.decode(fewer["/openapi/v3"])["paths"]
    assert changed["api/v1"] != index["api/v1"]
    assert changed["apis/apps/v1"] == index["apis/apps/v1"]

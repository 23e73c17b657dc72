"""Small objects and addresses that the tests of the API are written with."""

from __future__ import annotations

import copy
from typing import Any

from fairlead.model.catalog import CATALOG
from fairlead.model.kind import Kind
from tests.inprocess import InProcess
from tests.samples import SAMPLES

Json = dict[str, Any]

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
NAMESPACES = "/api/v1/namespaces"

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"

# In their preferred version.
KINDS = {kind.kind: kind for kind in CATALOG if CATALOG.of_resource(kind.resource) is kind}


def collection(kind: Kind, namespace: str = "default") -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    return f"{root}/namespaces/{namespace}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"


def configmap(name: str = "settings", **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": {"a": "1"},
    }


def pod(name: str = "web", node: str = "", **metadata: Any) -> Json:
    spec: Json = {"containers": [{"name": "web", "image": "web:1"}]}
    if node:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def deployment(name: str = "web", replicas: int = 2, **metadata: Any) -> Json:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, **metadata},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def need(plane: InProcess, kind: Kind, namespace: str = "default") -> None:
    """What must be there before a sample of this kind can be made."""
    if kind.kind == "RunbookRun":
        made(plane, collection(KINDS["Runbook"], namespace), sample("Runbook"))
    if kind.kind == "ChaosExperiment":
        made(plane, collection(KINDS["PlaneSettings"], namespace), sample("PlaneSettings"))


def made(plane: InProcess, address: str, obj: Json) -> Json:
    """The object as stored."""
    status, body = plane.post(address, obj)
    assert status == 201, body
    stored: Json = body
    return stored


def plane_with_everything() -> InProcess:
    """A plane that holds one object of each kind, in the namespace of the samples."""
    plane = InProcess()
    for name in SAMPLES:
        made(plane, collection(KINDS[name], "shop"), sample(name))
    return plane


def sample(kind: str) -> Json:
    """The sample of a kind, without its namespace: the address says where it goes."""
    obj = copy.deepcopy(SAMPLES[kind])
    obj["metadata"].pop("namespace", None)
    return obj


def causes(body: Json) -> list[tuple[str, str]]:
    """(reason, field) of each cause."""
    return [(cause["reason"], cause.get("field", "")) for cause in body["details"]["causes"]]


def notes(plane: InProcess) -> list[bytes]:
    """The audit lines so far."""
    return [note.body for _, _, note in plane.journal.notes("audit", 0, 100_000)]

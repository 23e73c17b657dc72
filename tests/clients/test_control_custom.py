"""`fairlead control` where nobody else collects garbage: custom kinds are followed as their definitions come and go.

The server is one without controllers, seen through a door that shows plain Kubernetes (`plain_kubernetes.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.plain_kubernetes import PlainKubernetes
from tests.clients.test_control import Control, bare  # noqa: F401 - a fixture
from tests.e2e.testimony import eventually
from tests.running import Running

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "example.com"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
BEACONS = f"/apis/{GROUP}/v1/namespaces/default/beacons"
ORPHAN = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"}
FOREGROUND = {**ORPHAN, "propagationPolicy": "Foreground"}


@pytest.fixture
def plain(bare: PlainKubernetes, tmp_path: Path) -> Iterator[PlainKubernetes]:  # noqa: F811
    control = Control(bare, tmp_path, "one")
    eventually(lambda: "one leads" in control.said)
    yield bare
    assert control.process.poll() is None, control.said
    assert bare.foreign == []
    control.kill()


def define(server: Running, plural: str, kind: str) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": GROUP, "scope": "Namespaced", "names": {"plural": plural, "kind": kind}}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {**spec, "versions": [version]},
    }
    assert server.request("POST", CRDS, body)[0] == 201


def make(server: Running, path: str, kind: str, name: str, owner: dict[str, Any] | None = None) -> Any:
    version = f"{GROUP}/v1" if path.startswith(f"/apis/{GROUP}") else "v1"
    body: dict[str, Any] = {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
    if owner is not None:
        body["metadata"]["ownerReferences"] = [reference(owner)]
    status, made = server.request("POST", path, body)
    assert status == 201, made
    return made


def reference(owner: dict[str, Any]) -> dict[str, Any]:
    meta = owner["metadata"]
    named = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
    }
    return {**named, "blockOwnerDeletion": True}


def is_there(server: Running, path: str) -> bool:
    return server.request("GET", path)[0] == 200


def test_dependents_of_custom_kinds_go_with_their_owners_in_every_way(plain: PlainKubernetes) -> None:
    server = plain.server
    define(server, "beacons", "Beacon")  # long after the start
    owners = {name: make(server, BEACONS, "Beacon", name) for name in ("gone", "slow", "free")}
    for name, owner in owners.items():
        make(server, CONFIGMAPS, "ConfigMap", f"of-{name}", owner)
        make(server, BEACONS, "Beacon", f"under-{name}", owner)
    settings = make(server, CONFIGMAPS, "ConfigMap", "settings")
    make(server, BEACONS, "Beacon", "of-settings", settings)

    assert server.request("DELETE", f"{BEACONS}/gone")[0] == 200
    assert server.request("DELETE", f"{BEACONS}/slow", FOREGROUND)[0] == 200
    assert server.request("DELETE", f"{BEACONS}/free", ORPHAN)[0] == 200
    assert server.request("DELETE", f"{CONFIGMAPS}/settings")[0] == 200
    for name in ("gone", "slow"):
        eventually(lambda at=name: not is_there(server, f"{CONFIGMAPS}/of-{at}"))  # type: ignore[misc]
        eventually(lambda at=name: not is_there(server, f"{BEACONS}/under-{at}"))  # type: ignore[misc]
        eventually(lambda at=name: not is_there(server, f"{BEACONS}/{at}"))  # type: ignore[misc]
    eventually(lambda: not is_there(server, f"{BEACONS}/of-settings"))
    eventually(lambda: not is_there(server, f"{BEACONS}/free"))
    for path in (f"{CONFIGMAPS}/of-free", f"{BEACONS}/under-free"):
        status, found = server.request("GET", path)
        assert status == 200
        assert "ownerReferences" not in found["metadata"]


def test_a_namespace_with_custom_objects_and_a_definition_with_dependents_go(plain: PlainKubernetes) -> None:
    server = plain.server
    define(server, "beacons", "Beacon")
    server.kubectl("create", "namespace", "team")
    for number in range(3):
        make(server, BEACONS.replace("default", "team"), "Beacon", f"b-{number}")
    server.kubectl("delete", "namespace", "team", "--wait=false")
    eventually(lambda: not is_there(server, "/api/v1/namespaces/team"))

    owner = make(server, BEACONS, "Beacon", "last")
    make(server, CONFIGMAPS, "ConfigMap", "of-last", owner)
    assert server.request("DELETE", f"{CRDS}/beacons.{GROUP}")[0] == 200
    eventually(lambda: not is_there(server, f"{CRDS}/beacons.{GROUP}"))
    eventually(lambda: not is_there(server, f"{CONFIGMAPS}/of-last"))

    define(server, "beacons", "Beacon")  # the same again is followed again
    owner = make(server, BEACONS, "Beacon", "new")
    make(server, CONFIGMAPS, "ConfigMap", "of-new", owner)
    assert server.request("DELETE", f"{BEACONS}/new")[0] == 200
    eventually(lambda: not is_there(server, f"{CONFIGMAPS}/of-new"))


@pytest.mark.parametrize("status", [403, pytest.param(404, marks=pytest.mark.soak)])
def test_a_kind_that_cannot_be_listed_is_not_empty_and_stops_nothing_else(
    plain: PlainKubernetes, status: int
) -> None:
    server = plain.server
    plain.refused[f"/apis/{GROUP}/v1/secretives"] = status  # across namespaces, and in the one that is used
    plain.refused[f"/apis/{GROUP}/v1/namespaces/default/secretives"] = status
    define(server, "secretives", "Secretive")
    define(server, "beacons", "Beacon")
    hidden = BEACONS.replace("beacons", "secretives")
    owner = make(server, hidden, "Secretive", "there")
    make(server, CONFIGMAPS, "ConfigMap", "of-there", owner)
    gone = {**owner, "metadata": {**owner["metadata"], "name": "never", "uid": "never-was"}}
    make(server, CONFIGMAPS, "ConfigMap", "of-never", gone)
    beacon = make(server, BEACONS, "Beacon", "free")
    make(server, hidden, "Secretive", "under-free", beacon)
    assert server.request("DELETE", f"{BEACONS}/free", ORPHAN)[0] == 200
    other = make(server, BEACONS, "Beacon", "gone")
    make(server, CONFIGMAPS, "ConfigMap", "of-gone", other)
    assert server.request("DELETE", f"{BEACONS}/gone")[0] == 200
    eventually(lambda: not is_there(server, f"{CONFIGMAPS}/of-gone"))
    for path in (f"{CONFIGMAPS}/of-there", f"{CONFIGMAPS}/of-never", f"{BEACONS}/free"):
        assert is_there(server, path), f"{path}: who owns it, or what it owns, cannot be told yet"

    plain.refused.clear()
    eventually(lambda: not is_there(server, f"{CONFIGMAPS}/of-never"))
    eventually(lambda: not is_there(server, f"{BEACONS}/free"))
    assert is_there(server, f"{CONFIGMAPS}/of-there")
    assert "ownerReferences" not in server.request("GET", f"{hidden}/under-free")[1]["metadata"]

"""Custom kinds with kubectl: defined, used, changed, and gone with all they had, also across a restart."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.kubectl import Operator
from tests.running import Running, need_kubectl

GROUP = "stable.example.com"
NAME = f"crontabs.{GROUP}"
READY = '.status.conditions[?(@.type=="Ready")].status'
_PART = r"(\d+|\*)(/\d+)?"
SPEC: dict[str, Any] = {
    "type": "object",
    "description": "What is to be done, and when.",
    "required": ["cronSpec"],
    "properties": {
        "cronSpec": {"type": "string", "pattern": rf"^{_PART}(\s+{_PART}){{4}}$", "description": "When."},
        "image": {"type": "string", "default": "registry.example/idle:1"},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 10},
        "suspend": {"type": "boolean"},
    },
}
STATUS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "labelSelector": {"type": "string"},
        "conditions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"type": {"type": "string"}, "status": {"type": "string"}},
            },
        },
    },
}


def definition(*more: dict[str, Any], **changed: Any) -> dict[str, Any]:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {**SPEC, **changed}, "status": STATUS},
            }
        },
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.labelSelector",
            },
        },
        "additionalPrinterColumns": [
            {"name": "Spec", "type": "string", "jsonPath": ".spec.cronSpec"},
            {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
            {"name": "Ready", "type": "string", "jsonPath": READY},
            {"name": "Image", "type": "string", "jsonPath": ".spec.image", "priority": 1},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "selectableFields": [{"jsonPath": ".spec.image"}],
    }
    names = {
        "plural": "crontabs",
        "singular": "crontab",
        "kind": "CronTab",
        "shortNames": ["ct"],
        "categories": ["all"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version, *more]},
    }


def crontab(name: str, version: str = "v1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "CronTab",
        "metadata": {"name": name},
        "spec": {"cronSpec": "* * * * */5", **spec},
    }


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it did not come to be so"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    need_kubectl()
    server = Running(tmp_path_factory.mktemp("plane") / "data", arguments=("--without-controllers",))
    yield server
    server.stop()


@pytest.fixture
def kubectl(running: Running) -> Iterator[Operator]:
    """With the definition made; afterwards it is gone, and its objects with it."""
    operator = Operator(running.kubeconfig)
    assert (
        operator("create -f -", definition())
        == f"customresourcedefinition.apiextensions.k8s.io/{NAME} created\n"
    )
    operator(f"wait --for=condition=Established --timeout=90s crd/{NAME}")
    yield operator
    operator.run("delete crontabs --all")
    operator.run(f"delete crd {NAME} --timeout=90s")


def test_a_definition_is_served_as_soon_as_it_is_made(kubectl: Operator) -> None:
    listed = kubectl("api-resources --api-group stable.example.com --no-headers").split()
    assert listed == ["crontabs", "ct", "stable.example.com/v1", "true", "CronTab"]
    assert kubectl("get crd --no-headers").split()[0] == NAME
    assert kubectl.run("get ct").err.startswith("No resources found")


def test_objects_are_shown_in_the_columns_of_their_definition(kubectl: Operator) -> None:
    kubectl("create -f -", crontab("nightly", replicas=3))
    head, row = kubectl("get ct").splitlines()
    assert head.split() == ["NAME", "SPEC", "REPLICAS", "READY", "AGE"]
    assert row.split()[:7] == ["nightly", "*", "*", "*", "*", "*/5", "3"]
    ready = {
        "status": {"conditions": [{"type": "Other", "status": "no"}, {"type": "Ready", "status": "True"}]}
    }
    kubectl(f"patch ct nightly --subresource=status --type=merge -p '{json.dumps(ready)}'")
    assert "True" in kubectl("get crontabs.stable.example.com nightly")
    assert "registry.example/idle:1" in kubectl("get ct -o wide")
    assert "crontab.stable.example.com/nightly" in kubectl("get all")
    kubectl("wait --for=condition=Ready --timeout=90s ct/nightly")
    kubectl("wait --for=jsonpath={.spec.replicas}=3 --timeout=90s ct/nightly")
    assert kubectl.asked("get ct --field-selector spec.image=registry.example/idle:1 -o name").split() == [
        "crontab.stable.example.com/nightly"
    ]
    assert kubectl.asked("get ct --field-selector spec.image=other -o name") == ""


def test_an_object_that_breaks_the_schema_is_refused_with_every_reason(kubectl: Operator) -> None:
    said = kubectl.refused(
        "create --validate=false -f -", crontab("bad", cronSpec="never", replicas=20, suspend="x")
    )
    assert 'The CronTab "bad" is invalid' in said
    assert "spec.cronSpec in body should match" in said
    assert (
        "spec.replicas: Invalid value: 20: spec.replicas in body should be less than or equal to 10" in said
    )
    assert (
        'spec.suspend: Invalid value: "string": spec.suspend in body must be of type boolean: "string"'
        in said
    )


def test_fields_that_the_schema_does_not_know_are_dropped_and_told(kubectl: Operator) -> None:
    done = kubectl.run("create --validate=warn -f -", crontab("strange", colour="red"))
    assert 'Warning: unknown field "spec.colour"' in done.err
    assert "colour" not in kubectl("get ct strange -o yaml")
    assert 'unknown field "spec.colour"' in kubectl.refused(
        "create --validate=strict -f -", crontab("other", colour="red")
    )


def test_apply_patch_scale_and_label(kubectl: Operator) -> None:
    kubectl("apply -f -", crontab("a", replicas=1))
    assert kubectl("apply -f -", crontab("a", replicas=2)).strip().endswith("configured")
    assert kubectl("apply -f -", crontab("a", replicas=2)).strip().endswith("unchanged")
    assert kubectl("scale ct/a --replicas=4").strip().endswith("scaled")
    assert kubectl.asked("get ct a -o jsonpath={.spec.replicas},{.metadata.generation}") == "4,3"
    kubectl("""patch ct a --type=json -p '[{"op":"replace","path":"/spec/replicas","value":5}]'""")
    kubectl("label ct a tier=gold")
    assert (
        kubectl.asked(
            "get ct -l tier=gold -o jsonpath={.items[*].spec.replicas},{.items[*].metadata.generation}"
        )
        == "5,4"
    )
    said = kubectl.refused("""patch ct a --type=strategic -p '{"spec":{"replicas":6}}'""")
    assert "media type" in said or "unknown format" in said or "strategic" in said
    assert "10" in kubectl.refused("scale ct/a --replicas=11")
    assert kubectl("delete ct a").strip() == 'crontab.stable.example.com "a" deleted'


def test_explain_tells_what_the_schema_says(kubectl: Operator) -> None:
    said = kubectl("explain crontab.spec")
    assert "What is to be done, and when." in said
    assert "cronSpec" in said
    assert "replicas" in kubectl("explain crontabs --recursive")


def test_versions_show_one_object_each_in_its_own(kubectl: Operator) -> None:
    kubectl("create -f -", crontab("old"))
    beta = {
        "name": "v1beta1",
        "served": True,
        "storage": False,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}},
    }
    kubectl("replace -f -", definition(beta))
    assert (
        kubectl.asked("get crontabs.v1beta1.stable.example.com old -o jsonpath={.apiVersion}")
        == f"{GROUP}/v1beta1"
    )
    kubectl("create -f -", crontab("new", "v1beta1"))
    assert kubectl.asked("get crontabs.v1.stable.example.com new -o jsonpath={.apiVersion}") == f"{GROUP}/v1"
    listed = kubectl.asked(
        "get crontabs.v1beta1.stable.example.com -o jsonpath={.items[*].apiVersion}"
    ).split()
    assert listed == [f"{GROUP}/v1beta1"] * 2


def test_a_default_that_is_added_later_shows_in_older_objects(kubectl: Operator) -> None:
    kubectl("create -f -", crontab("older"))
    properties = {**SPEC["properties"], "suspend": {"type": "boolean", "default": False}}
    kubectl("replace -f -", definition(properties=properties))
    assert kubectl.asked("get ct older -o jsonpath={.spec.suspend}") == "false"
    assert kubectl.asked("get ct -o jsonpath={.items[0].spec.suspend}") == "false"


def test_a_definition_that_is_deleted_takes_its_objects_along(kubectl: Operator) -> None:
    kubectl("create namespace crons")
    kubectl("create -f -", crontab("one"))
    kubectl.inside("crons")("create -f -", crontab("two"))
    held = {**crontab("held"), "metadata": {"name": "held", "finalizers": ["example.com/wait"]}}
    kubectl("create -f -", held)
    kubectl(f"delete crd {NAME} --wait=false")
    eventually(lambda: kubectl.asked("get ct -A -o jsonpath={.items[*].metadata.name}") == "held")
    said = kubectl.refused("create -f -", crontab("late"))
    assert "create not allowed while custom resource definition is terminating" in said
    eventually(
        lambda: "example.com/wait" in kubectl.asked(f"get crd {NAME} -o jsonpath={{.status.conditions}}")
    )
    kubectl("""patch ct held --type=merge -p '{"metadata":{"finalizers":null}}'""")
    kubectl(f"wait --for=delete --timeout=90s crd/{NAME}")
    assert (
        kubectl("api-resources --api-group stable.example.com --no-headers -o name") == ""
    )  # not from kubectl's cache
    kubectl("create -f -", definition())
    assert kubectl.asked("get crontabs -A -o name") == ""


def test_owners_and_namespaces_work_with_custom_kinds(kubectl: Operator) -> None:
    kubectl("create namespace owned")
    inside = kubectl.inside("owned")
    inside("create -f -", crontab("owner"))
    uid = inside("get ct owner -o jsonpath={.metadata.uid}")
    owner = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "CronTab",
        "name": "owner",
        "uid": uid,
        "blockOwnerDeletion": True,
    }
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "child", "ownerReferences": [owner]},
    }
    inside("create -f -", child)
    inside("create -f -", {**child, "metadata": {"name": "free"}})
    map_uid = inside("get cm free -o jsonpath={.metadata.uid}")
    inside(
        "create -f -",
        {
            **crontab("of-map"),
            "metadata": {
                "name": "of-map",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "free", "uid": map_uid}
                ],
            },
        },
    )
    inside("delete ct owner --cascade=foreground --timeout=90s")
    assert "child" not in inside("get cm -o name")
    inside("delete cm free")
    eventually(lambda: inside("get ct -o name") == "")
    inside("create -f -", crontab("last"))
    kubectl("delete namespace owned --timeout=90s")
    assert kubectl.asked("get ct -A -o name") == ""


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    need_kubectl()
    first = Running(tmp_path / "data", arguments=("--without-controllers",))
    kubectl = Operator(first.kubeconfig)
    kubectl("create -f -", definition())
    kubectl("create -f -", crontab("kept", replicas=2))
    first.kill()
    second = Running(tmp_path / "data", first.port, arguments=("--without-controllers",))
    try:
        assert kubectl.asked("get ct kept -o jsonpath={.spec.replicas}") == "2"
        kubectl(f"wait --for=condition=Established --timeout=90s crd/{NAME}")
        kubectl(f"delete crd {NAME} --timeout=90s")
        assert kubectl.asked("get crd -o name") == ""
    finally:
        second.stop()

"""Which fields can be selected by, for every kind, and what a field that cannot is answered with."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.inprocess import InProcess
from tests.unit.api.things import KINDS, collection, made, need, sample


def _selected(plane: InProcess, kind: str, selector: str) -> list[str]:
    status, body = plane.get(f"{collection(KINDS[kind])}?fieldSelector={quote(selector)}")
    assert status == 200, body
    return [item["metadata"]["name"] for item in body["items"]]


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.kind)
def test_every_kind_can_be_selected_by_its_name_and_namespace_and_by_nothing_unheard_of(kind: Any) -> None:
    plane = InProcess()
    need(plane, kind)
    obj = sample(kind.kind)
    obj.get("involvedObject", {}).pop("namespace", None)
    name = made(plane, collection(kind), obj)["metadata"]["name"]
    namespace = "default" if kind.namespaced else ""
    assert _selected(plane, kind.kind, f"metadata.name={name},metadata.namespace={namespace}") == [name]
    assert name not in _selected(plane, kind.kind, f"metadata.name!={name}")
    assert _selected(plane, kind.kind, "metadata.namespace=elsewhere") == []
    for unknown in ("spec.image", "metadata.labels", "nonsense"):
        status, body = plane.get(f"{collection(kind)}?fieldSelector={unknown}%3Dx")
        assert (status, body["reason"]) == (400, "BadRequest")
        assert body["message"].startswith(
            f"field label not supported: {unknown}; {kind.kind} can be selected by "
        )


POD = {
    "spec.nodeName": "n1", "spec.restartPolicy": "Always", "spec.schedulerName": "mine",
    "spec.serviceAccountName": "robot", "spec.hostNetwork": "false", "status.phase": "Running",
    "status.podIP": "10.0.0.7", "status.podIPs": "10.0.0.7", "status.nominatedNodeName": "n2",
}  # fmt: skip
EVENT = {
    "involvedObject.kind": "Pod", "involvedObject.namespace": "default", "involvedObject.name": "web",
    "involvedObject.uid": "u1", "involvedObject.apiVersion": "v1", "involvedObject.resourceVersion": "7",
    "involvedObject.fieldPath": "spec.containers{web}", "reason": "Started", "reportingComponent": "agent",
    "source": "kubelet", "type": "Normal",
}  # fmt: skip


def _pod() -> dict[str, Any]:
    spec = {
        "containers": [{"name": "web", "image": "web:1"}], "nodeName": "n1", "schedulerName": "mine",
        "serviceAccountName": "robot",
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": spec}


def _pod_status() -> dict[str, Any]:
    addresses = {"podIP": "10.0.0.7", "podIPs": [{"ip": "10.0.0.7"}]}
    return {"status": {"phase": "Running", "nominatedNodeName": "n2", **addresses}}


def _event() -> dict[str, Any]:
    involved = {
        "kind": "Pod", "namespace": "default", "name": "web", "uid": "u1", "apiVersion": "v1", "resourceVersion": "7",
        "fieldPath": "spec.containers{web}",
    }  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "one"}, "involvedObject": involved,
        "reason": "Started", "reportingComponent": "agent", "source": {"component": "kubelet"}, "type": "Normal",
    }  # fmt: skip


@pytest.mark.parametrize(("field", "value"), POD.items())
def test_pods_are_selected_by_what_controllers_look_for(field: str, value: str) -> None:
    plane = InProcess()
    made(plane, collection(KINDS["Pod"]), _pod())
    assert plane.patch(f"{collection(KINDS['Pod'])}/web/status", _pod_status())[0] == 200
    assert _selected(plane, "Pod", f"{field}={value}") == ["web"]
    assert _selected(plane, "Pod", f"{field}!={value}") == []
    assert _selected(plane, "Pod", f"{field}=other") == []


@pytest.mark.parametrize(("field", "value"), EVENT.items())
def test_events_are_selected_by_what_they_are_about(field: str, value: str) -> None:
    plane = InProcess()
    made(plane, collection(KINDS["Event"]), _event())
    assert _selected(plane, "Event", f"{field}={value}") == ["one"]
    assert _selected(plane, "Event", f"{field}!={value}") == []


@pytest.mark.parametrize(
    ("kind", "selector", "before", "change", "subresource"),
    [
        ("Node", "spec.unschedulable=true", False, {"spec": {"unschedulable": True}}, ""),
        ("Node", "spec.unschedulable=false", True, {"spec": {"unschedulable": True}}, ""),
        ("Secret", "type=Opaque", True, None, ""),
        ("Namespace", "status.phase=Active", True, None, ""),
        ("ReplicaSet", "status.replicas=3", False, {"status": {"replicas": 3}}, "/status"),
        ("ReplicaSet", "status.replicas=0", True, {"status": {"replicas": 3}}, "/status"),
    ],
)
def test_other_kinds_are_selected_by_their_own_fields(
    kind: str, selector: str, before: bool, change: Any, subresource: str
) -> None:
    plane = InProcess()
    obj = sample(kind)
    for part in ("status", "type"):
        obj.pop(part, None)
    obj.get("spec", {}).pop("unschedulable", None)
    if kind == "Secret":
        obj["data"] = {}
    name = made(plane, collection(KINDS[kind]), obj)["metadata"]["name"]
    assert (name in _selected(plane, kind, selector)) is before
    if change is not None:
        status, body = plane.patch(f"{collection(KINDS[kind])}/{name}{subresource}", change)
        assert status == 200, body
        assert (name in _selected(plane, kind, selector)) is not before

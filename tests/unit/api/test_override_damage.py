"""A SchedulerOverride is made while what it is judged by is damaged in the store."""

from __future__ import annotations

import pytest

from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.port.request import Reply, Request
from tests.inprocess import InProcess
from tests.unit.api.test_damaged import rot
from tests.unit.api.test_overrides import made, override, plane

__all__ = ["plane"]


def _settings_and_an_endpoint(plane: InProcess) -> None:
    """What an override is judged by, beside the nodes and Deployments that there are."""
    group, spaces = "/apis/fairlead.dev/v1", "namespaces/default"
    policy = {"apiVersion": "fairlead.dev/v1", "kind": "SchedulingPolicy", "metadata": {"name": "gold"}}
    settings = {"apiVersion": "fairlead.dev/v1", "kind": "PlaneSettings", "metadata": {"name": "default"}}
    pod = {"metadata": {"name": "web-1"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    pieces = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "addressType": "IPv4",
        "metadata": {"name": "web-1", "labels": {"kubernetes.io/service-name": "web"}},
        "endpoints": [
            {
                "addresses": ["10.0.0.1"],
                "zone": "a",
                "targetRef": {"kind": "Pod", "namespace": "default", "name": "web-1"},
            }
        ],
    }
    for path, body in (
        (f"{group}/schedulingpolicies", policy),
        (f"{group}/planesettings", {**settings, "spec": {"schedulingPolicy": "gold"}}),
        (f"/api/v1/{spaces}/pods", {"apiVersion": "v1", "kind": "Pod", **pod}),
        (f"/apis/discovery.k8s.io/v1/{spaces}/endpointslices", pieces),
    ):
        status, answer = plane.post(path, body)
        assert status == 201, answer


@pytest.mark.parametrize(
    ("damaged", "body", "namespace"),
    [
        (
            Key("scheduleroverrides.fairlead.dev", "default", "first"),
            override("node/n1", name="second", changes={"cordon": True}),
            "kube-system",
        ),
        (
            Key("nodes", "", "n1"),
            override("node/n2", name="second", changes={"cordon": True}),
            "kube-system",
        ),
        (
            Key("deployments.apps", "default", "db"),
            override(name="second", changes={"pauseExpansion": True}),
            "default",
        ),
        (Key("planesettings.fairlead.dev", "", "default"), override(name="second"), "default"),
        (Key("namespaces", "", "kube-system"), override(name="second"), "default"),
        (
            Key("schedulingpolicies.fairlead.dev", "", "gold"),
            override(name="second", changes={"allowReservedCapacityClass": "gold", "reservedReplicas": 1}),
            "default",
        ),
        (
            Key("pods", "default", "web-1"),
            override(name="second", changes={"trafficWeights": [{"zone": "a", "weight": 1}]}),
            "default",
        ),
    ],
)
def test_what_is_damaged_elsewhere_keeps_nobody_from_making_one(
    plane: InProcess, damaged: Key, body: Json, namespace: str
) -> None:
    """People intervene when a plane is ill; and who may make one may not see everything by its name."""
    _settings_and_an_endpoint(plane)
    assert made(plane, override(name="first"))[0] == 201
    rot(plane, damaged)
    sent = codec.encode(body)
    request = Request("create", "fairlead.dev", "v1", "scheduleroverrides", namespace, body=sent)
    reply = plane.send(request)
    assert isinstance(reply, Reply)
    assert reply.status == 201, reply.body
    assert any(damaged.resource in each and damaged.name not in each for each in reply.warnings)

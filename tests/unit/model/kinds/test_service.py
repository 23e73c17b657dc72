"""Services: defaults, ports, addresses, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kinds.service import KIND

Json = dict[str, Any]
PORT: Json = {"port": 80}


def service(**spec: Any) -> Json:
    made: Json = {"metadata": {"name": "s"}, "spec": {"ports": [dict(PORT)], **spec}}
    KIND.defaults(made)
    return made


def causes(made: Json) -> list[str]:
    problems = Problems()
    KIND.validate(made, problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


def test_a_bare_service_gets_its_defaults() -> None:
    assert service()["spec"] == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "ipFamilyPolicy": "SingleStack",
        "ipFamilies": ["IPv4"],
        "internalTrafficPolicy": "Cluster",
    }


def test_types_and_affinity_bring_their_own_defaults() -> None:
    balancer = service(type="LoadBalancer", sessionAffinity="ClientIP")["spec"]
    assert balancer["externalTrafficPolicy"] == "Cluster"
    assert balancer["allocateLoadBalancerNodePorts"] is True
    assert balancer["sessionAffinityConfig"] == {"clientIP": {"timeoutSeconds": 10800}}
    outside = service(type="ExternalName", externalName="a.example")["spec"]
    assert "internalTrafficPolicy" not in outside
    assert "ipFamilies" not in outside
    assert service(clusterIP="None")["spec"]["clusterIPs"] == ["None"]
    assert service(clusterIPs=["fd00::1"])["spec"]["ipFamilies"] == ["IPv6"]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"ports": [], "clusterIP": "None"},
        {"type": "ExternalName", "externalName": "a.example.", "ports": []},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]},
        {"ports": [{"port": 53, "name": "u", "protocol": "UDP"}, {"port": 53, "name": "t"}]},
        {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"app": "web"}},
        {"externalIPs": ["192.0.2.1"]},
    ],
)
def test_good_services_pass(spec: Json) -> None:
    assert causes(service(**spec)) == []


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"ports": []}, "spec.ports: Required value"),
        (
            {"ports": [{"port": 0, "targetPort": 1}]},
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535",
        ),
        (
            {"ports": [{"port": 1, "targetPort": "a_b"}]},
            'spec.ports[0].targetPort: Invalid value: "a_b": must contain only',
        ),
        ({"ports": [{"port": 1, "name": "a"}, {"port": 2}]}, "spec.ports[1].name: Required value"),
        (
            {"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]},
            'spec.ports[1].name: Duplicate value: "a"',
        ),
        (
            {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]},
            'spec.ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}',
        ),
        (
            {"ports": [{"port": 1, "nodePort": 30000}]},
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
        ),
        ({"ports": [{"port": 1, "name": "A"}]}, 'spec.ports[0].name: Invalid value: "A"'),
        (
            {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 1}}},
            "spec.sessionAffinityConfig: Forbidden: must not be set when session affinity is None",
        ),
        ({"selector": {"a b": "c"}}, 'spec.selector: Invalid value: "a b"'),
        ({"type": "ExternalName", "ports": []}, "spec.externalName: Required value"),
        (
            {"type": "ExternalName", "externalName": "a", "clusterIP": "10.0.0.1"},
            "spec.clusterIP: Forbidden: may not be set when `type` is 'ExternalName'",
        ),
        ({"clusterIP": "x"}, 'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address'),
        (
            {"clusterIP": "None", "type": "NodePort"},
            "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
        ),
        ({"externalIPs": ["x"]}, 'spec.externalIPs[0]: Invalid value: "x": must be a valid IP address'),
        (
            {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 86401}}},
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401",
        ),
    ],
)
def test_bad_services_are_named(spec: Json, wanted: str) -> None:
    found = causes(service(**spec))
    assert len(found) == 1
    assert found[0].startswith(wanted)


@pytest.mark.parametrize(
    ("new", "old", "right"),
    [
        ({"clusterIP": "10.0.0.1"}, {"clusterIP": "10.0.0.1"}, True),
        ({"clusterIP": "10.0.0.1"}, {}, True),
        ({"clusterIP": "10.0.0.2"}, {"clusterIP": "10.0.0.1"}, False),
        ({}, {"clusterIP": "10.0.0.1"}, False),
        ({"type": "ExternalName"}, {"clusterIP": "10.0.0.1"}, True),
    ],
)
def test_an_address_is_kept(new: Json, old: Json, right: bool) -> None:
    problems = Problems()
    KIND.validate_update({"spec": new}, {"spec": old}, problems)
    assert bool(problems) is not right


@pytest.mark.parametrize(
    ("spec", "status", "wanted"),
    [
        ({}, {}, ["ClusterIP", "<none>", "<none>", "80/TCP", "<unknown>", "<none>"]),
        (
            {
                "type": "NodePort",
                "clusterIP": "10.0.0.1",
                "ports": [{"port": 1, "nodePort": 30001}, {"port": 2}],
            },
            {},
            ["NodePort", "10.0.0.1", "<none>", "1:30001/TCP,2/TCP", "<unknown>", "<none>"],
        ),
        (
            {"type": "LoadBalancer", "selector": {"b": "2", "a": "1"}},
            {},
            ["LoadBalancer", "<none>", "<pending>", "80/TCP", "<unknown>", "a=1,b=2"],
        ),
        (
            {"type": "LoadBalancer", "externalIPs": ["192.0.2.9"]},
            {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "lb.example"}]}},
            ["LoadBalancer", "<none>", "192.0.2.1,lb.example,192.0.2.9", "80/TCP", "<unknown>", "<none>"],
        ),
        (
            {"type": "ExternalName", "externalName": "a.example", "ports": []},
            {},
            ["ExternalName", "<none>", "a.example", "<none>", "<unknown>", "<none>"],
        ),
    ],
)
def test_columns_read_as_in_kubectl(spec: Json, status: Json, wanted: list[str]) -> None:
    made = service(**spec)
    made["status"].update(status)
    assert [column.cell(made, 0.0) for column in KIND.columns] == wanted


def test_services_can_be_selected_by_address_and_type() -> None:
    made = service(clusterIP="10.0.0.1")
    assert {path: read(made) for path, read in KIND.selectable.items()} == {
        "spec.clusterIP": "10.0.0.1",
        "spec.type": "ClusterIP",
    }

"""EndpointSlices: defaults of ports, addresses by type, bounds, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.kind import Json
from fairlead.model.kinds.endpointslice import KIND
from tests.unit.model.kinds.workload_objects import defaulted, mistakes, row, shown, update_mistakes, whole


def cut(kind: str = "IPv4", *addresses: str, **fields: Any) -> Json:
    endpoints = [{"addresses": [address]} for address in addresses or ("10.0.0.1",)]
    return whole(KIND, addressType=kind, **{"endpoints": endpoints, "ports": [{"port": 80}], **fields})


def test_ports_get_a_name_and_a_protocol() -> None:
    after = defaulted(KIND, cut(ports=[{"port": 80}, {"name": "dns", "protocol": "UDP"}]))
    assert after["ports"] == [{"port": 80, "name": "", "protocol": "TCP"}, {"name": "dns", "protocol": "UDP"}]
    assert mistakes(KIND, cut()) == []


@pytest.mark.parametrize(
    ("kind", "address", "expected"),
    [
        ("IPv4", "192.168.1.1", None),
        ("IPv6", "2001:db8::1", None),
        ("IPv4", "127.128.0.1", None),  # where processes live that run as pods
        ("IPv4", "127.127.255.255", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("FQDN", "db.example.com", None),
        ("FQDN", "db.example.com.", None),
        ("IPv4", "2001:db8::1", "must be a valid IPv4 address"),
        ("IPv4", "10.0.0.256", "must be a valid IPv4 address"),
        ("IPv4", "10.0.0.01", "must be a valid IPv4 address"),
        ("IPv6", "10.0.0.1", "must be a valid IPv6 address"),
        ("IPv6", "2001:db8::1%eth0", "must be a valid IPv6 address"),
        ("IPv4", "0.0.0.0", "may not be unspecified (0.0.0.0)"),
        ("IPv4", "127.0.0.2", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("IPv6", "::1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("IPv4", "169.254.1.1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        ("IPv6", "fe80::1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        ("IPv4", "224.0.0.5", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        ("IPv6", "ff02::1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
        ("IPv4", "224.1.0.5", None),
        ("FQDN", "localhost", "should be a domain with at least two segments separated by dots"),
        ("FQDN", "Upper.example.com", "start and end with an alphanumeric character"),
    ],
)
def test_addresses(kind: str, address: str, expected: str | None) -> None:
    found = mistakes(KIND, cut(kind, address))
    if expected is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith(f'endpoints[0].addresses[0]: Invalid value: "{address}": ')
        assert expected in found[0]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"endpoints": [{"addresses": []}]},
            ["endpoints[0].addresses: Required value: must contain at least 1 address"],
        ),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"] * 101}]},
            ["endpoints[0].addresses: Too many: 101: must have at most 100 items"],
        ),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"]}] * 1001},
            ["endpoints: Too many: 1001: must have at most 1000 items"],
        ),
        ({"ports": [{}] * 20_001}, ["ports: Too many: 20001: must have at most 20000 items"]),
        ({"ports": [{"name": "a"}, {"name": "a"}]}, ['ports[1].name: Duplicate value: "a"']),
        ({"ports": [{}, {}]}, ['ports[1].name: Duplicate value: ""']),
        (
            {"ports": [{"protocol": "ICMP"}]},
            ['ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'],
        ),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"], "hints": {"forZones": [{"name": "a"}] * 2}}]},
            ['endpoints[0].hints.forZones[1].name: Duplicate value: "a"'],
        ),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"], "hints": {"forZones": [{"name": "a"}] * 9}}]},
            ["endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"],
        ),
        (
            {"addressType": "IP"},
            ['addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"'],
        ),
    ],
)
def test_bounds_and_ports(fields: dict[str, Any], expected: list[str]) -> None:
    obj = cut()
    obj.update(fields)
    assert mistakes(KIND, obj) == expected


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"endpoints": [{"addresses": ["10.0.0.1"], "hostname": "A_b"}]}, "endpoints[0].hostname"),
        ({"endpoints": [{"addresses": ["10.0.0.1"], "nodeName": "A_b"}]}, "endpoints[0].nodeName"),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"], "deprecatedTopology": {"a b": "c"}}]},
            "endpoints[0].deprecatedTopology",
        ),
        (
            {"endpoints": [{"addresses": ["10.0.0.1"], "hints": {"forNodes": [{"name": "a b"}]}}]},
            "endpoints[0].hints.forNodes[0].name",
        ),
        ({"ports": [{"name": "Not_a_label"}]}, "ports[0].name"),
        ({"ports": [{"appProtocol": "no spaces"}]}, "ports[0].appProtocol"),
    ],
)
def test_malformed_names_are_found_where_they_are(part: dict[str, Any], path: str) -> None:
    obj = cut()
    obj.update(part)
    assert [text.partition(": ")[0] for text in mistakes(KIND, obj)] == [path]


def test_the_address_type_never_changes_and_the_rest_may() -> None:
    assert update_mistakes(KIND, cut("IPv6", "2001:db8::1"), cut()) == [
        'addressType: Invalid value: "IPv6": field is immutable'
    ]
    assert update_mistakes(KIND, cut("IPv4", "10.0.0.2", ports=[]), cut()) == []


def test_columns_are_those_of_kubectl() -> None:
    assert shown(KIND) == ["ADDRESSTYPE", "PORTS", "ENDPOINTS", "AGE"]
    addresses = [f"10.0.0.{number}" for number in range(1, 6)]
    ports: list[Json] = [{"port": 80}, {"name": "web"}, {}]
    cells = row(KIND, cut("IPv4", *addresses, ports=ports))
    assert cells["Ports"] == "80,web,*"
    assert cells["Endpoints"] == "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more..."
    empty = row(KIND, cut(endpoints=[], ports=[]))
    assert (empty["Ports"], empty["Endpoints"]) == ("<unset>", "<unset>")

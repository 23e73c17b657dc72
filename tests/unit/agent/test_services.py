"""Services as a node sees them: routes to ready endpoints, and the variables of containers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.agent.contract import Backend, Route
from fairlead.agent.services import routes, service_environment, weights_held
from fairlead.core.times import parse_time
from fairlead.ledger.zone_weights import NOTE
from fairlead.model.service_views import SERVICE_NAME, EndpointSlice, Service

READY = {"ready": True, "serving": True, "terminating": False}
ENDING = {"ready": False, "serving": True, "terminating": True}
BROKEN = {"ready": False, "serving": False, "terminating": False}
NOW = parse_time("2026-11-03T12:00:00Z")
LATER = "2026-11-03T12:30:00Z"


def service(
    name: str = "web", address: str = "127.96.1.1", namespace: str = "default", **spec: Any
) -> Service:
    spec.setdefault("ports", [{"port": 80}])
    body = {
        "metadata": {"name": name, "uid": name, "namespace": namespace},
        "spec": {"clusterIP": address, **spec},
    }
    return msgspec.convert(body, Service)


def cut(
    *endpoints: tuple[str, Any],
    owner: str = "web",
    namespace: str = "default",
    ports: Any = None,
    kind: str = "IPv4",
    name: str = "s",
) -> EndpointSlice:
    body = {
        "metadata": {"name": name, "uid": name, "namespace": namespace, "labels": {SERVICE_NAME: owner}},
        "addressType": kind,
        "endpoints": [{"addresses": [address], "conditions": held} for address, held in endpoints],
        "ports": ports if ports is not None else [{"name": "", "protocol": "TCP", "port": 8080}],
    }
    return msgspec.convert(body, EndpointSlice)


def to(*addresses: str, port: int = 8080) -> tuple[Backend, ...]:
    return tuple(Backend(address, port) for address in addresses)


@pytest.mark.parametrize(
    ("slices", "backends"),
    [
        ([], ()),
        ([cut()], ()),
        ([cut(("127.128.0.2", READY), ("127.128.0.1", READY))], to("127.128.0.1", "127.128.0.2")),
        (
            [cut(("127.128.0.1", READY)), cut(("127.128.0.2", READY), name="t")],
            to("127.128.0.1", "127.128.0.2"),
        ),
        ([cut(("127.128.0.1", READY)), cut(("127.128.0.1", READY), name="t")], to("127.128.0.1")),
        ([cut(("127.128.0.1", {}))], to("127.128.0.1")),  # not said is yes
        ([cut(("127.128.0.1", BROKEN))], ()),
        ([cut(("127.128.0.1", READY), ("127.128.0.2", ENDING))], to("127.128.0.1")),
        ([cut(("127.128.0.1", BROKEN), ("127.128.0.2", ENDING))], to("127.128.0.2")),
        ([cut(("127.128.0.1", READY), owner="other")], ()),
        ([cut(("127.128.0.1", READY), namespace="other")], ()),
        ([cut(("fd00::1", READY), kind="IPv6")], ()),
        ([cut(("127.128.0.1", READY), ports=[{"name": "other", "protocol": "TCP", "port": 1}])], ()),
        ([cut(("127.128.0.1", READY), ports=[{"name": "", "protocol": "UDP", "port": 1}])], ()),
        ([cut(("127.128.0.1", READY), ports=[{}])], ()),
    ],
)
def test_a_route_leads_to_those_who_can_take_it(
    slices: list[EndpointSlice], backends: tuple[Backend, ...]
) -> None:
    assert routes([service()], slices, NOW) == (Route("default/web:80", "127.96.1.1", 80, backends),)


@pytest.mark.parametrize(
    "one",
    [
        service(address="None"),
        service(address=""),
        service(address="fd00::1"),
        service(type="ExternalName", address=""),
        service(ports=[{"port": 53, "protocol": "UDP"}]),
        service(ports=[]),
    ],
)
def test_what_cannot_be_routed_has_no_routes(one: Service) -> None:
    assert routes([one], [cut(("127.128.0.1", READY))], NOW) == ()


def test_ports_are_told_apart_by_name_and_node_ports_lead_to_the_same() -> None:
    ports = [{"name": "a", "port": 80, "nodePort": 30080}, {"name": "b", "port": 90}]
    held = [{"name": "b", "protocol": "TCP", "port": 9090}, {"name": "a", "protocol": "TCP", "port": 8080}]
    assert routes(
        [service(ports=ports, type="NodePort")], [cut(("127.128.0.1", READY), ports=held)], NOW
    ) == (
        Route("default/web:a", "127.96.1.1", 80, to("127.128.0.1")),
        Route("default/web:a", "127.0.0.1", 30080, to("127.128.0.1")),
        Route("default/web:b", "127.96.1.1", 90, to("127.128.0.1", port=9090)),
    )


def test_the_order_of_what_comes_in_makes_no_difference() -> None:
    services = [service(), service("api", "127.96.1.2"), service("web", "127.96.1.3", "shop")]
    slices = [cut(("127.128.0.1", READY), name=name) for name in ("x", "y")]
    assert routes(services, slices, NOW) == routes(reversed(services), reversed(slices), NOW)


def weighed(
    note: Any, *endpoints: tuple[str, str, Any], until: str = LATER, name: str = "s", number: int = 8080
) -> EndpointSlice:
    text = note if isinstance(note, str) else msgspec.json.encode({"weights": note, "until": until}).decode()
    body = {
        "metadata": {
            "name": name,
            "uid": name,
            "namespace": "default",
            "labels": {SERVICE_NAME: "web"},
            "annotations": {NOTE: text},
        },
        "addressType": "IPv4",
        "endpoints": [
            {"addresses": [address], "conditions": held, **({"zone": zone} if zone else {})}
            for address, zone, held in endpoints
        ],
        "ports": [{"name": "", "protocol": "TCP", "port": number}],
    }
    return msgspec.convert(body, EndpointSlice)


A, B, NOWHERE = ("127.128.0.1", "a", READY), ("127.128.0.2", "b", READY), ("127.128.0.3", "", READY)


@pytest.mark.parametrize(
    ("note", "endpoints", "shares"),
    [
        ({"a": 0}, (A, B), {"127.128.0.2": 1}),
        ({"a": 0}, (A, B, NOWHERE), {"127.128.0.2": 1, "127.128.0.3": 1}),
        ({"a": 50}, (A, B), {"127.128.0.1": 1, "127.128.0.2": 2}),
        ({"a": 30, "b": 70}, (A, B, NOWHERE), {"127.128.0.1": 3, "127.128.0.2": 7, "127.128.0.3": 10}),
        ({"a": 7, "b": 7}, (A, B), {"127.128.0.1": 1, "127.128.0.2": 1}),
        # Nobody who is ready would be left: they are not followed.
        ({"a": 0, "b": 0}, (A, B), {"127.128.0.1": 1, "127.128.0.2": 1}),
        ({"b": 0}, (("127.128.0.1", "a", ENDING), B), {"127.128.0.2": 1}),
        ({"b": 0}, (("127.128.0.1", "a", BROKEN), B), {"127.128.0.2": 1}),
        # What ends and still serves has to do, and is weighed as well.
        ({"a": 0}, (("127.128.0.1", "a", ENDING), ("127.128.0.2", "b", ENDING)), {"127.128.0.2": 1}),
        # Notes that no controller wrote.
        ({"a": -5, "b": 1000}, (A, B), {"127.128.0.2": 1}),
        ("{", (A, B), {"127.128.0.1": 1, "127.128.0.2": 1}),
        ('{"weights": {"a": 0}, "until": "soon"}', (A, B), {"127.128.0.1": 1, "127.128.0.2": 1}),
        ('{"weights": {"a": "x"}, "until": ""}', (A, B), {"127.128.0.1": 1, "127.128.0.2": 1}),
    ],
)
def test_zones_share_by_their_weights(note: Any, endpoints: Any, shares: dict[str, int]) -> None:
    (found,) = routes([service()], [weighed(note, *endpoints)], NOW)
    assert {each.address: each.weight for each in found.backends} == shares


def test_weights_bear_on_all_slices_of_the_service() -> None:
    own, made_by_people = weighed({"a": 0}, B, name="t"), weighed("", A)
    (found,) = routes([service()], [made_by_people, own], NOW)
    assert found.backends == to("127.128.0.2")


def test_weights_end_by_the_nodes_own_clock() -> None:
    slices, end = (
        [weighed({"a": 0}, A, B), weighed({"b": 1}, name="t", until="2026-11-03T12:45:00Z")],
        parse_time(LATER),
    )
    assert weights_held(slices, NOW).until == end
    assert weights_held(slices, end).until == parse_time("2026-11-03T12:45:00Z")
    assert weights_held(slices, end + 3600).until == 0.0
    only = slices[:1]
    assert [len(each.backends) for each in routes([service()], only, end - 0.001)] == [1]
    assert [len(each.backends) for each in routes([service()], only, end)] == [2]


def test_variables_are_those_of_kubernetes() -> None:
    ports = [{"name": "http-web", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]
    assert service_environment([service("my-web", ports=ports)], "default") == [
        ("MY_WEB_SERVICE_HOST", "127.96.1.1"),
        ("MY_WEB_SERVICE_PORT", "80"),
        ("MY_WEB_SERVICE_PORT_HTTP_WEB", "80"),
        ("MY_WEB_SERVICE_PORT_DNS", "53"),
        ("MY_WEB_PORT", "tcp://127.96.1.1:80"),
        ("MY_WEB_PORT_80_TCP", "tcp://127.96.1.1:80"),
        ("MY_WEB_PORT_80_TCP_PROTO", "tcp"),
        ("MY_WEB_PORT_80_TCP_PORT", "80"),
        ("MY_WEB_PORT_80_TCP_ADDR", "127.96.1.1"),
        ("MY_WEB_PORT_53_UDP", "udp://127.96.1.1:53"),
        ("MY_WEB_PORT_53_UDP_PROTO", "udp"),
        ("MY_WEB_PORT_53_UDP_PORT", "53"),
        ("MY_WEB_PORT_53_UDP_ADDR", "127.96.1.1"),
    ]


def test_only_the_namespace_counts_and_those_with_an_address_and_the_one_of_the_api() -> None:
    others = [
        service("a", "127.96.1.1"),
        service("b", "None", "shop"),
        service("c", "", "shop"),
        service("kubernetes", "127.96.0.1"),
        service("d", "127.96.1.4", "shop"),
    ]
    found = dict(service_environment(others, "shop"))
    assert {name for name in found if name.endswith("_HOST")} == {"D_SERVICE_HOST", "KUBERNETES_SERVICE_HOST"}
    own = [*others, service("kubernetes", "127.96.1.9", "shop")]
    assert dict(service_environment(own, "shop"))["KUBERNETES_SERVICE_HOST"] == "127.96.1.9"
    assert dict(service_environment(own, "aaa"))["KUBERNETES_SERVICE_HOST"] == "127.96.0.1"

"""Addresses and node ports of Services: given, kept, named, refused, given back; and two who want the same at once."""

from __future__ import annotations

import json
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from fairlead.api.admission.node_ports import NODE_PORTS_MAX
from fairlead.api.claims import CLAIMS
from fairlead.api.plan import AGAIN, Plan
from fairlead.model.marks import SERVICE_NETWORK
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Remove, Transaction
from fairlead.wire.routes import resource_request, split_target
from tests.inprocess import InProcess

Json = dict[str, Any]
SERVICES = "/api/v1/namespaces/default/services"


@pytest.fixture
def plane() -> InProcess:
    return InProcess()


def body(name: str = "web", **spec: Any) -> Json:
    spec.setdefault("ports", [{"port": 80}])
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def made(plane: InProcess, name: str = "web", **spec: Any) -> Json:
    answer: Json
    status, answer = plane.post(SERVICES, body(name, **spec))
    assert status == 201, answer
    return answer


def patched(plane: InProcess, name: str, spec: Json) -> tuple[int, Json]:
    return plane.patch(f"{SERVICES}/{name}", {"spec": spec})


def claims(plane: InProcess) -> set[str]:
    return {entry.key.name for entry in plane.store.list(CLAIMS)}


def node_ports(service: Json) -> list[int]:
    return [port["nodePort"] for port in service["spec"]["ports"]]


def test_a_service_gets_an_address_of_its_own_and_gives_it_back(plane: InProcess) -> None:
    made_ones = [made(plane, f"s{number}")["spec"] for number in range(50)]
    addresses = [spec["clusterIP"] for spec in made_ones]
    assert len(set(addresses)) == 50
    assert all(ip_address(each) in ip_network(SERVICE_NETWORK) for each in addresses)
    assert all(spec["clusterIPs"] == [spec["clusterIP"]] for spec in made_ones)
    assert claims(plane) == {f"address-{each}" for each in addresses}
    assert plane.delete(f"{SERVICES}/s0")[0] == 200
    assert claims(plane) == {f"address-{each}" for each in addresses[1:]}
    assert made(plane, "s0", clusterIP=addresses[0])["spec"]["clusterIP"] == addresses[0]


def test_a_collection_gives_all_back(plane: InProcess) -> None:
    for number in range(70):
        made(plane, f"s{number}", type="NodePort", ports=[{"port": 80}])
    assert len(claims(plane)) == 140
    assert plane.delete(SERVICES)[0] == 200
    assert claims(plane) == set()


def test_what_a_finalizer_holds_keeps_its_address_until_it_goes(plane: InProcess) -> None:
    service = body()
    service["metadata"]["finalizers"] = ["example.com/wait"]
    address = plane.post(SERVICES, service)[1]["spec"]["clusterIP"]
    plane.delete(f"{SERVICES}/web")
    assert claims(plane) == {f"address-{address}"}
    assert plane.patch(f"{SERVICES}/web", {"metadata": {"finalizers": None}})[0] == 200
    assert claims(plane) == set()


def test_none_is_kept_and_takes_nothing(plane: InProcess) -> None:
    spec = made(plane, clusterIP="None")["spec"]
    assert (spec["clusterIP"], spec["clusterIPs"], claims(plane)) == ("None", ["None"], set())
    assert made(plane, "out", type="ExternalName", externalName="a.example")["spec"].get("clusterIP") is None
    assert claims(plane) == set()


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (
            {"clusterIP": "127.96.0.9"},
            'spec.clusterIPs: Invalid value: ["127.96.0.9"]: failed to allocate IP 127.96.0.9: provided IP is already '
            "allocated: name another, or leave the field out to get a free one",
        ),
        (
            {"clusterIP": "10.0.0.1"},
            'spec.clusterIPs: Invalid value: ["10.0.0.1"]: failed to allocate IP 10.0.0.1: the provided IP is not in '
            "the valid range. The range of valid IPs is 127.96.0.0/16: leave the field out to get a free one",
        ),
        ({"clusterIP": "127.96.0.0"}, "the provided IP is not in the valid range"),
        ({"clusterIP": "127.96.255.255"}, "the provided IP is not in the valid range"),
        ({"clusterIP": "x"}, 'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address'),
        (
            {"ipFamilies": ["IPv6"]},
            'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
        ),
        ({"ipFamilyPolicy": "RequireDualStack"}, "not configured for dual-stack services: use SingleStack"),
        ({"clusterIPs": ["127.96.0.10", "127.96.0.11"]}, "not configured for dual-stack services: name one"),
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30009}]},
            "spec.ports[0].nodePort: Invalid value: 30009: provided port is already allocated: name another",
        ),
        (
            {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]},
            "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid "
            "ports is 30000-32767: leave the field out",
        ),
        (
            {"type": "NodePort", "ports": [{"port": n, "name": f"p{n}"} for n in range(1, 40)]},
            f"spec.ports: Too many: 39: must have at most {NODE_PORTS_MAX} items",
        ),
    ],
)
def test_what_cannot_be_had_is_refused_with_the_field_and_the_fix(
    plane: InProcess, spec: Json, wanted: str
) -> None:
    made(plane, "taken", type="NodePort", clusterIP="127.96.0.9", ports=[{"port": 80, "nodePort": 30009}])
    held = claims(plane)
    status, answer = plane.post(SERVICES, body(**spec))
    assert status == 422, answer
    assert wanted in answer["message"]
    assert claims(plane) == held


def test_all_problems_are_told_at_once(plane: InProcess) -> None:
    status, answer = plane.post(SERVICES, body(clusterIP="10.0.0.1", ports=[{"port": 0}]))
    assert status == 422
    assert {cause["field"] for cause in answer["details"]["causes"]} >= {
        "spec.clusterIPs",
        "spec.ports[0].port",
    }


def test_node_ports_are_given_shared_by_protocols_and_kept(plane: InProcess) -> None:
    ports = [
        {"port": 53, "name": "u", "protocol": "UDP"},
        {"port": 53, "name": "t"},
        {"port": 80, "name": "h"},
    ]
    service = made(plane, type="NodePort", ports=ports)
    first, second, third = node_ports(service)
    assert first == second != third
    assert all(30000 <= each <= 32767 for each in (first, third))
    other = made(plane, "other", type="NodePort")
    assert not set(node_ports(other)) & {first, third}
    # A manifest that does not name them, applied again, means the same as before.
    again = body(type="NodePort", ports=ports)
    status, updated = plane.put(f"{SERVICES}/web", again)
    assert (status, updated["spec"]) == (200, service["spec"])
    # One port fewer gives its number back; the others stay.
    status, fewer = plane.put(f"{SERVICES}/web", body(type="NodePort", ports=ports[:2]))
    assert node_ports(fewer) == [first, second]
    assert f"nodeport-{third}" not in claims(plane)


def test_a_load_balancer_may_do_without_node_ports(plane: InProcess) -> None:
    spec = made(plane, type="LoadBalancer", allocateLoadBalancerNodePorts=False)["spec"]
    assert "nodePort" not in spec["ports"][0]
    assert "nodePort" in made(plane, "b", type="LoadBalancer")["spec"]["ports"][0]


def test_a_change_of_type_drops_what_it_has_no_use_for_and_takes_what_it_needs(plane: InProcess) -> None:
    address = made(plane)["spec"]["clusterIP"]
    status, outside = patched(plane, "web", {"type": "NodePort"})
    assert status == 200
    (port,) = node_ports(outside)
    assert claims(plane) == {f"address-{address}", f"nodeport-{port}"}
    status, inside = patched(plane, "web", {"type": "ClusterIP"})
    assert (status, inside["spec"]["clusterIP"], "nodePort" in inside["spec"]["ports"][0]) == (
        200,
        address,
        False,
    )
    assert "externalTrafficPolicy" not in inside["spec"]
    assert claims(plane) == {f"address-{address}"}
    status, named = patched(plane, "web", {"type": "ExternalName", "externalName": "a.example"})
    assert (status, named["spec"].get("clusterIP"), claims(plane)) == (200, None, set())
    status, back = patched(plane, "web", {"type": "ClusterIP", "externalName": None})
    assert status == 200
    assert claims(plane) == {f"address-{back['spec']['clusterIP']}"}


@pytest.mark.parametrize("spec", [{"clusterIP": "127.96.0.77"}, {"clusterIP": "None"}])
def test_an_address_does_not_change(plane: InProcess, spec: Json) -> None:
    address = made(plane)["spec"]["clusterIP"]
    status, answer = patched(plane, "web", {**spec, "clusterIPs": None})
    assert status == 422
    assert "may not change once set" in answer["message"]
    assert claims(plane) == {f"address-{address}"}


def test_a_create_of_what_exists_is_told_so_and_not_that_its_own_address_is_taken(plane: InProcess) -> None:
    spec: Json = {"type": "NodePort", "clusterIP": "127.96.0.5", "ports": [{"port": 80, "nodePort": 30001}]}
    made(plane, **spec)
    held = claims(plane)
    status, answer = plane.post(SERVICES, body(**spec))
    assert (status, answer["reason"]) == (409, "AlreadyExists")
    assert claims(plane) == held


def test_a_create_beside_the_deletion_of_its_namesake_gets_an_address(plane: InProcess) -> None:
    made(plane)
    request, plan = planned(plane, "web")  # thought out while the old one is there
    assert plane.delete(f"{SERVICES}/web")[0] == 200
    assert plan.finish(plane.commit(plan.transaction)) is AGAIN
    reply = plane.send(request)
    assert isinstance(reply, Reply)
    assert reply.status == 201
    assert len(claims(plane)) == 1


def test_a_dry_run_shows_an_address_and_takes_none(plane: InProcess) -> None:
    status, shown = plane.post(f"{SERVICES}?dryRun=All", body())
    assert status == 201
    assert ip_address(shown["spec"]["clusterIP"]) in ip_network(SERVICE_NETWORK)
    assert claims(plane) == set()


def planned(plane: InProcess, name: str, **spec: Any) -> tuple[Request, Plan]:
    """A create, thought out and not committed."""
    path, query = split_target(SERVICES.encode())
    raw = json.dumps(body(name, **spec)).encode()
    request = resource_request(b"POST", path, query, raw, "application/json", "application/json")
    assert request is not None
    plan = plane.plan(request)
    assert isinstance(plan, Plan)
    return request, plan


def test_of_two_who_name_the_same_at_once_one_gets_it(plane: InProcess) -> None:
    plans = [planned(plane, name, clusterIP="127.96.0.5") for name in ("a", "b")]
    (_, first), (request, second) = plans
    reply = first.finish(plane.commit(first.transaction))
    assert isinstance(reply, Reply)
    assert reply.status == 201
    assert second.finish(plane.commit(second.transaction)) is AGAIN  # and planned again it is refused:
    refused = plane.send(request)
    assert isinstance(refused, Reply)
    assert refused.status == 422
    assert b"already allocated" in refused.body
    assert claims(plane) == {"address-127.96.0.5"}


def test_of_two_who_would_be_given_the_same_at_once_the_second_is_given_another(
    plane: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = plane.context()
    monkeypatch.setattr(plane, "context", lambda *_: context)  # the same entropy: the same first choice
    (_, first), (request, second) = planned(plane, "a"), planned(plane, "b")
    first.finish(plane.commit(first.transaction))
    assert second.finish(plane.commit(second.transaction)) is AGAIN
    reply = plane.send(request)
    assert isinstance(reply, Reply)
    assert reply.status == 201
    assert len(claims(plane)) == 2


def test_a_service_from_before_there_were_claims_gets_one_with_its_next_change(plane: InProcess) -> None:
    made(plane, clusterIP="127.96.0.5")
    (claim,) = plane.store.list(CLAIMS)
    plane.commit(Transaction((Remove(claim.key, claim.uid, b"", b""),)))
    assert claims(plane) == set()
    assert plane.patch(f"{SERVICES}/web", {"metadata": {"labels": {"a": "b"}}})[0] == 200
    assert claims(plane) == {"address-127.96.0.5"}

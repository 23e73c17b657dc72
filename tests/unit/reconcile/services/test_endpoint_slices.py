"""EndpointSlices: which pods are in them and how, how many slices there are, and whom a pod's change wakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from fairlead.decision.contract import Settled
from fairlead.decision.effects import Change, Create, Delete
from fairlead.model.key import Key
from fairlead.model.marks import RELEASED, ZONE
from fairlead.model.service_views import (
    ENDPOINT_SLICES,
    HEADLESS,
    MANAGED_BY,
    SERVICE_NAME,
    SERVICES,
    SLICE_CONTROLLER,
    EndpointSlice,
)
from fairlead.model.views import NODES, PODS, Pod
from fairlead.reconcile.services.endpoint_slices import endpoint_slice_decider
from fairlead.reconcile.services.layout import SLICE_ENDPOINTS_MAX, laid_out
from fairlead.reconcile.services.selectors import ServiceSelectors
from tests.unit.reconcile import waking
from tests.unit.reconcile.world import World

Json = dict[str, Any]
PORTS = [{"name": "http", "port": 80, "targetPort": 8080}]


def service(world: World, name: str = "web", **spec: Any) -> None:
    world.add(SERVICES, name, spec={"selector": {"app": "web"}, "ports": PORTS, **spec})


def pod(
    world: World,
    number: int,
    *,
    ready: bool = True,
    labels: Json | None = None,
    address: str | None = None,
    **more: Any,
) -> str:
    name = f"p{number}"
    container = {"name": "main", "image": "x", "ports": more.pop("ports", [])}
    world.add(
        PODS, name, metadata={"labels": labels or {"app": "web"}}, spec={"containers": [container], **more}
    )
    world.set_pod(name, "Running", ready=ready)
    held = f"127.128.{number // 250}.{number % 250 + 1}" if address is None else address
    world.edit_status(PODS, name, {"podIP": held})
    return name


def settled(world: World) -> list[EndpointSlice]:
    world.settle([endpoint_slice_decider()])
    return list(world.list(ENDPOINT_SLICES))


def addresses(world: World) -> list[str]:
    return sorted(
        address for each in settled(world) for endpoint in each.endpoints for address in endpoint["addresses"]
    )


def conditions(world: World) -> Json:
    (only,) = settled(world)
    (endpoint,) = only.endpoints
    found: Json = endpoint["conditions"]
    return found


def test_a_slice_says_whose_it_is_and_all_that_is_known_of_a_pod() -> None:
    world = World()
    world.add(NODES, "node-1", metadata={"labels": {ZONE: "a"}})
    world.add(
        SERVICES, "web", metadata={"labels": {"team": "x"}}, spec={"selector": {"app": "web"}, "ports": PORTS}
    )
    pod(world, 1)
    (only,) = settled(world)
    owner = world.get(SERVICES, "default", "web")
    found = world.get(PODS, "default", "p1")
    assert owner is not None
    assert found is not None
    assert only.metadata.name.startswith("web-")
    assert len(only.metadata.name) == len("web-xxxxx")
    assert only.metadata.controller is not None
    assert only.metadata.controller.uid == owner.metadata.uid
    assert only.metadata.labels == {"team": "x", SERVICE_NAME: "web", MANAGED_BY: SLICE_CONTROLLER}
    assert only.address_type == "IPv4"
    assert only.ports == ({"name": "http", "protocol": "TCP", "port": 8080},)
    assert only.endpoints == (
        {
            "addresses": ["127.128.0.2"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": "default", "name": "p1", "uid": found.metadata.uid},
            "nodeName": "node-1",
            "zone": "a",
        },
    )


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_order_of_pods_and_service_makes_no_difference(number: int) -> None:
    world = World()
    steps: list[Callable[[], Any]] = [lambda: pod(world, 1), lambda: pod(world, 2)]
    steps.insert(number, lambda: service(world))
    for step in steps:
        step()
        settled(world)
    assert addresses(world) == ["127.128.0.2", "127.128.0.3"]


def test_without_pods_there_is_one_slice_without_endpoints_and_it_is_used_when_pods_come() -> None:
    world = World()
    service(world)
    (empty,) = settled(world)
    assert (empty.endpoints, empty.ports) == ((), ())
    pod(world, 1)
    (used,) = settled(world)
    assert used.metadata.uid == empty.metadata.uid
    assert used.ports
    world.delete(PODS, "p1")
    world.stop_pods()
    (again,) = settled(world)
    assert (again.metadata.uid, again.endpoints) == (empty.metadata.uid, ())


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda world: None, (True, True, False)),
        (lambda world: world.set_pod("p1", "Running", ready=False), (False, False, False)),
        (lambda world: world.delete(PODS, "p1"), (False, True, True)),
        (lambda world: _release(world, "True"), (False, False, False)),
        (lambda world: _release(world, "False"), (True, True, False)),
    ],
)
def test_conditions(change: Callable[[World], None], wanted: tuple[bool, bool, bool]) -> None:
    world = World()
    service(world)
    pod(world, 1)
    change(world)
    assert tuple(conditions(world)[name] for name in ("ready", "serving", "terminating")) == wanted


def _release(world: World, status: str) -> None:
    known = world.objects[Key("pods", "default", "p1")]["status"]["conditions"]
    world.edit_status(PODS, "p1", {"conditions": [*known, {"type": RELEASED, "status": status}]})


def test_addresses_of_pods_that_are_not_ready_may_be_published() -> None:
    world = World()
    service(world, publishNotReadyAddresses=True)
    pod(world, 1, ready=False)
    assert conditions(world) == {"ready": True, "serving": False, "terminating": False}


def test_pods_without_an_address_ended_ones_and_others_are_left_out() -> None:
    world = World()
    service(world)
    pod(world, 1, address="")
    world.set_pod(pod(world, 2), "Succeeded")
    pod(world, 3, labels={"app": "other"})
    pod(world, 4)
    assert addresses(world) == ["127.128.0.5"]


def test_a_named_port_is_what_each_pod_calls_so() -> None:
    world = World()
    service(world, ports=[{"name": "http", "port": 80, "targetPort": "web"}, {"name": "x", "port": 90}])
    for number, port in ((1, 8080), (2, 9090), (3, 8080)):
        pod(world, number, ports=[{"name": "web", "containerPort": port}])
    pod(world, 4)  # calls nothing so: only its other port counts
    slices = settled(world)
    assert sorted((tuple(port["port"] for port in each.ports), len(each.endpoints)) for each in slices) == [
        ((90,), 1),
        ((8080, 90), 2),
        ((9090, 90), 1),
    ]


def test_a_headless_service_has_slices_that_say_so() -> None:
    world = World()
    service(world, clusterIP="None", ports=[])
    pod(world, 1)
    (only,) = settled(world)
    assert (only.metadata.labels[HEADLESS], only.ports, len(only.endpoints)) == ("", (), 1)


def test_services_without_a_selector_are_left_alone_and_external_names_have_none() -> None:
    world = World()
    world.add(SERVICES, "hand", spec={"ports": PORTS})
    assert settled(world) == []
    service(world)
    pod(world, 1)
    assert len(settled(world)) == 1
    spec = {"type": "ExternalName", "externalName": "a.example", "selector": {"app": "web"}}
    world.edit(SERVICES, "web", {"spec": {**spec, "ipFamilies": None, "internalTrafficPolicy": None}})
    assert settled(world) == []


def test_slices_that_others_keep_for_the_service_stay_as_they_are() -> None:
    world = World()
    service(world)
    body: Json = {
        "metadata": {"labels": {SERVICE_NAME: "web"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.1"]}],
    }
    world.add(ENDPOINT_SLICES, "web-mine", **body)
    pod(world, 1)
    assert addresses(world) == ["10.0.0.1", "127.128.0.2"]


def test_slices_that_a_service_of_the_same_name_left_behind_are_taken_over() -> None:
    world = World()
    service(world)
    pod(world, 1)
    (left,) = settled(world)
    world.edit(ENDPOINT_SLICES, left.metadata.name, {"metadata": {"ownerReferences": None}})
    world.vanish(Key(SERVICES.name, left.metadata.namespace, "web"))
    world.vanish(Key(PODS.name, left.metadata.namespace, "p1"))
    pod(world, 2)
    service(world)
    (found,) = settled(world)
    assert found.metadata.name == left.metadata.name
    assert found.metadata.controller is not None
    assert addresses(world) == ["127.128.0.3"]


def test_many_pods_fill_slices_of_a_hundred_and_a_change_writes_one() -> None:
    world = World()
    service(world)
    for number in range(250):
        pod(world, number)
    slices = settled(world)
    assert sorted(len(each.endpoints) for each in slices) == [50, 100, 100]
    before = len(world.writes)
    pod(world, 250)
    settled(world)
    world.set_pod("p7", "Running", ready=False)
    settled(world)
    assert len(world.writes) == before + 2
    for number in range(200):
        world.delete(PODS, f"p{number}")
    world.stop_pods()
    left = addresses(world)
    assert len(left) == 51
    assert all(isinstance(each, Change | Delete) for each in world.writes[before:])


def test_names_follow_from_the_service_so_that_a_create_twice_is_one() -> None:
    world = World()
    service(world)
    for number in range(SLICE_ENDPOINTS_MAX + 1):
        pod(world, number)
    decider = endpoint_slice_decider()
    key = Key("services", "default", "web")
    first = decider.decide(world, key, world.now)
    assert all(isinstance(effect, Create) for effect in first.effects)
    world.apply(first.effects[:1])  # and the rest was lost
    second = decider.decide(world, key, world.now)
    assert [effect.name for effect in second.effects] == [first.effects[1].name]
    world.apply(second.effects)
    world.apply(first.effects)  # what was on its way arrives after all
    assert len(addresses(world)) == SLICE_ENDPOINTS_MAX + 1


def test_an_edit_of_a_slice_is_undone_and_a_lost_one_is_made_again() -> None:
    world = World()
    service(world)
    pod(world, 1)
    (only,) = settled(world)
    name = only.metadata.name
    world.edit(ENDPOINT_SLICES, name, {"endpoints": [], "metadata": {"labels": {MANAGED_BY: None, "x": "y"}}})
    (back,) = settled(world)
    assert (back.endpoints, back.metadata.labels) == (only.endpoints, only.metadata.labels)
    world.delete(ENDPOINT_SLICES, name)
    assert addresses(world) == ["127.128.0.2"]
    assert isinstance(
        endpoint_slice_decider().decide(world, Key("services", "default", "web"), 0.0).verdict, Settled
    )


def test_a_service_that_goes_gets_no_slices() -> None:
    world = World()
    service(world)
    world.delete(SERVICES, "web", policy="Foreground")
    pod(world, 1)
    assert settled(world) == []


# Who is woken


def woken(world: World, name: str, change: Callable[[], Any] | None) -> list[str]:
    """Services woken by a change of a pod; None: by its coming."""
    key = Key("pods", "default", name)

    def seen() -> Pod | None:
        return world.get(PODS, "default", name) if key in world.objects else None

    before = seen() if change is not None else None
    if change is not None:
        change()
    found = waking.woken(endpoint_slice_decider(), "pods", before, seen(), world)
    return [key.name for key in found]


def test_a_change_of_a_pod_wakes_the_services_that_select_it_before_or_after() -> None:
    world = World()
    for name, chosen in (
        ("a", {"app": "web"}),
        ("b", {"app": "web", "tier": "x"}),
        ("c", {"app": "db"}),
        ("d", {}),
    ):
        service(world, name, selector=chosen)
    p1 = pod(world, 1)
    bare = pod(world, 2, labels={"other": "y"})
    assert woken(world, p1, None) == ["a"]
    assert woken(world, bare, None) == []
    assert woken(world, p1, lambda: world.edit(PODS, p1, {"metadata": {"annotations": {"x": "y"}}})) == []
    assert woken(world, p1, lambda: world.set_pod(p1, "Running", ready=False)) == ["a"]
    relabel = {"metadata": {"labels": {"app": "db", "tier": "x"}}}
    assert sorted(woken(world, p1, lambda: world.edit(PODS, p1, relabel))) == ["a", "c"]
    world.set_pod(p1, "Running", ready=True)
    assert woken(world, p1, lambda: world.delete(PODS, p1)) == ["c"]
    assert woken(world, p1, lambda: world.stop_pods()) == ["c"]


def test_a_zone_wakes_the_services_of_the_pods_on_the_node() -> None:
    world = World()
    service(world)
    pod(world, 1)
    world.add(NODES, "node-1")
    old = world.get(NODES, "", "node-1")
    world.edit(NODES, "node-1", {"metadata": {"labels": {ZONE: "b"}}}, namespace="")
    new = world.get(NODES, "", "node-1")
    decider = endpoint_slice_decider()
    assert [key.name for key in waking.woken(decider, "nodes", old, new, world)] == ["web"]
    assert list(waking.woken(decider, "nodes", new, new, world)) == []


def test_services_are_looked_through_once_for_as_long_as_they_stay() -> None:
    """One pod's change must not cost a look at each Service."""
    world = World()
    for number in range(50):
        service(world, f"s{number}", selector={"app": f"a{number}"})
    p1 = pod(world, 1, labels={"app": "a7"})
    held = world.list(SERVICES, "default")
    looked: list[str] = []

    class Counted(World):
        def list(self, resource: Any, namespace: str = "") -> Any:
            looked.append(resource.name)
            return held

    counted = Counted()
    decider = endpoint_slice_decider()
    seen = world.get(PODS, "default", p1)
    for _ in range(3):
        assert [key.name for key in waking.woken(decider, "pods", None, seen, counted)] == ["s7"]
    assert looked == ["services"] * 3
    selectors = ServiceSelectors()
    assert list(selectors.matching(counted, "default", {"app": "a7"})) == ["s7"]
    known = selectors._known["default"]
    assert known.services is held
    assert {len(each) for each in known.by_pair.values()} == {1}


def test_an_endpoint_stays_in_its_slice_whatever_comes_and_goes() -> None:
    """Laid out again on what it laid out, nothing moves; a slice too full gives the rest away."""
    key = (("port", 80),)
    endpoints = {f"u{n}": {"targetRef": {"uid": f"u{n}"}} for n in range(150)}
    ports: tuple[Json, ...] = (dict(key),)
    meta = {"name": "s", "uid": "s"}
    full = msgspec.convert(
        {"metadata": meta, "endpoints": list(endpoints.values()), "ports": ports}, EndpointSlice
    )
    layout = laid_out({(key,): endpoints}, [full])
    ((_, content),) = layout.kept
    (new,) = layout.new
    assert (len(content["endpoints"]), len(new["endpoints"])) == (SLICE_ENDPOINTS_MAX, 50)
    assert content["endpoints"] == list(endpoints.values())[:SLICE_ENDPOINTS_MAX]

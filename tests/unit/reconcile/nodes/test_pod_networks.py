"""Pod networks: every node that runs processes gets its own /24, keeps it, and nobody gets it meanwhile."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from fairlead.decision.contract import EFFECTS_MAX, Waiting
from fairlead.model.marks import DRIVER, POD_NETWORK
from fairlead.model.views import NODES, Node
from fairlead.reconcile.nodes import pod_networks
from fairlead.reconcile.nodes.pod_networks import ALL, pod_network_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import Refused, World

DECIDER = pod_network_decider()


def node(world: World, name: str, driver: str = "process", **spec: Any) -> None:
    world.add(NODES, name, metadata={"labels": {DRIVER: driver}}, spec=spec)


def given(world: World) -> dict[str, str]:
    """After as many turns as are asked for."""
    while True:
        decision = world.turn(DECIDER, "", "")
        if not decision.again_at:
            return {each.metadata.name: each.spec.pod_cidr for each in world.list(NODES)}


def test_each_gets_its_own_and_keeps_it_whoever_comes_and_goes() -> None:
    world = World()
    for number in range(EFFECTS_MAX + 10):
        node(world, f"n{number}")
    node(world, "pretends", "hollow")
    first = given(world)
    assert first.pop("pretends") == ""
    assert len(set(first.values())) == EFFECTS_MAX + 10
    networks = [ip_network(each) for each in first.values()]
    assert all(each.prefixlen == 24 and each.subnet_of(ip_network(POD_NETWORK)) for each in networks)  # type: ignore[arg-type]
    world.delete(NODES, "n0", "")
    node(world, "late")
    second = given(world)
    assert {name: cidr for name, cidr in first.items() if name != "n0"}.items() <= second.items()
    assert second["late"] not in {cidr for name, cidr in first.items() if name != "n0"}
    assert world.turn(DECIDER, "", "").effects == ()


def test_a_crash_between_two_writes_gives_nothing_twice() -> None:
    world = World()
    for number in range(6):
        node(world, f"n{number}")
    for _ in range(6):
        world.turn(DECIDER, "", "", prefix=1)
    found = [each.spec.pod_cidr for each in world.list(NODES)]
    assert len(set(found)) == 6
    assert all(found)


def test_networks_that_people_gave_are_kept_clear_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_networks, "SLOTS", 4)
    world = World()
    node(world, "hand", "hollow", podCIDR="127.128.1.0/24")
    node(world, "wide", "hollow", podCIDR="127.128.2.0/23")
    node(world, "far", "hollow", podCIDR="10.0.0.0/24")
    node(world, "six", "hollow", podCIDR="fd00::/64")
    node(world, "a")
    node(world, "b")
    decision = world.turn(DECIDER, "", "")
    found = {each.metadata.name: each.spec.pod_cidr for each in world.list(NODES)}
    assert (found["a"], found["b"]) == ("127.128.0.0/24", "")
    assert decision.verdict == Waiting(
        "NoFreePodNetwork", "node b has no addresses for pods: all of 127.128.0.0/9 is given out"
    )
    world.delete(NODES, "a", "")
    assert given(world)["b"] == "127.128.0.0/24"


def test_a_network_does_not_change() -> None:
    world = World()
    node(world, "a")
    given(world)
    with pytest.raises(Refused, match="except from"):
        world.edit(NODES, "a", {"spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}}, "")


def test_only_nodes_that_want_one_and_those_that_leave_one_wake_it() -> None:
    world = World()
    node(world, "wants")
    node(world, "pretends", "hollow")
    wants, pretends = world.get(NODES, "", "wants"), world.get(NODES, "", "pretends")
    assert list(woken(DECIDER, "nodes", None, wants)) == [ALL]
    assert list(woken(DECIDER, "nodes", None, pretends)) == []
    given(world)
    has = world.get(NODES, "", "wants")
    assert isinstance(has, Node)
    assert list(woken(DECIDER, "nodes", wants, has)) == []
    assert list(woken(DECIDER, "nodes", has, None)) == [ALL]
    assert list(woken(DECIDER, "nodes", pretends, None)) == []

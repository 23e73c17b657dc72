"""The first scheduler: which pod goes where, and which has to wait."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.decision.contract import EFFECTS_MAX, SETTLED, Waiting
from fairlead.decision.effects import Bind
from fairlead.model.views import NODES, PODS, Toleration
from fairlead.reconcile.eligibility import repelled, requested, tolerates
from fairlead.reconcile.first_fit import BATCH, FirstFitDecider
from tests.unit.reconcile.world import World

DECIDER = FirstFitDecider()
Json = dict[str, Any]


def node(
    world: World, name: str, cpu: str = "4", memory: str = "8Gi", pods: str = "110",
    *, ready: bool = True, labels: Json | None = None, **spec: Any,
) -> None:  # fmt: skip
    status = {
        "allocatable": {"cpu": cpu, "memory": memory, "pods": pods},
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
    }
    world.add(NODES, name, metadata={"labels": labels or {}}, spec=spec, status=status)


def pod(world: World, name: str, cpu: str = "100m", memory: str = "64Mi", **spec: Any) -> None:
    container = {"name": "main", "image": "a", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    world.add(PODS, name, spec={"containers": [container], **spec})


def placed(world: World) -> dict[str, str]:
    """Where the pods are after the decider has nothing more to do."""
    while effects := world.decide(DECIDER, BATCH).effects:
        world.apply(effects)
    return {each.metadata.name: each.spec.node_name for each in world.list(PODS)}


def test_a_pod_goes_to_the_first_node_by_name() -> None:
    world = World()
    for name in ("node-b", "node-a"):
        node(world, name)
    pod(world, "web")
    assert placed(world) == {"web": "node-a"}


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        pytest.param({"ready": False}, {}, id="not ready"),
        pytest.param({"unschedulable": True}, {}, id="cordoned"),
        pytest.param({"taints": [TAINT]}, {}, id="tainted"),
        pytest.param({"taints": [{**TAINT, "effect": "NoExecute"}]}, {}, id="evicting"),
        pytest.param({}, {"nodeSelector": {"disk": "ssd"}}, id="not selected"),
        pytest.param({"cpu": "50m"}, {}, id="too little cpu"),
        pytest.param({"memory": "1Mi"}, {}, id="too little memory"),
        pytest.param({"pods": "0"}, {}, id="no room for another pod"),
    ],
)
def test_a_node_that_does_not_take_the_pod_is_passed_over(first: Json, wanted: Json) -> None:
    world = World()
    node(world, "a", **first)
    node(world, "b", labels={"disk": "ssd"})
    pod(world, "web", **wanted)
    assert placed(world) == {"web": "b"}


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "operator": "Equal", "value": "no"}, False),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "cpu", "operator": "Exists"}, False),
        ({"value": "yes"}, False),
    ],
)
def test_a_toleration_covers_what_it_names(toleration: Json, covered: bool) -> None:
    assert tolerates(msgspec.convert(toleration, Toleration), TAINT) is covered


def test_a_preference_repels_nobody() -> None:
    assert not repelled(({**TAINT, "effect": "PreferNoSchedule"},), ())


def test_the_largest_init_container_counts_if_it_needs_more_than_the_rest() -> None:
    world = World()
    init = {"name": "init", "image": "a", "resources": {"requests": {"cpu": "2", "memory": "1Mi"}}}
    pod(world, "web", "500m", "64Mi", initContainers=[init])
    assert requested(world.list(PODS)[0].spec) == (2000, 64 * 2**20, 1)


def test_what_is_bound_and_not_finished_takes_room() -> None:
    world = World()
    node(world, "a", cpu="1")
    for name in ("done", "runs"):
        pod(world, name, "600m")
        world.set_pod(name, "Succeeded" if name == "done" else "Running", node="a")
    pod(world, "next", "600m")
    assert placed(world)["next"] == ""
    world.set_pod("runs", "Failed")
    assert placed(world)["next"] == "a"


def test_room_given_away_in_a_turn_is_not_given_again() -> None:
    world = World()
    node(world, "a", cpu="1")
    node(world, "b", cpu="1")
    for name in ("p1", "p2", "p3"):
        pod(world, name, "600m")
    decision = world.decide(DECIDER, BATCH)
    assert [(e.name, e.node) for e in decision.effects if isinstance(e, Bind)] == [("p1", "a"), ("p2", "b")]
    assert decision.verdict == Waiting("Unschedulable", "1 pods fit on no node")


def test_a_pod_that_requests_nothing_fits_on_an_overdrawn_node() -> None:
    world = World()
    node(world, "a", cpu="1", memory="1Gi")
    pod(world, "big", "2", "2Gi")
    world.set_pod("big", "Running", node="a")
    world.add(PODS, "tiny", spec={"containers": [{"name": "main", "image": "a"}]})
    assert placed(world)["tiny"] == "a"


def test_priority_then_age_then_name_say_who_is_first() -> None:
    world = World()
    node(world, "a", pods="3")
    pod(world, "old-b")
    pod(world, "old-a")
    world.tick(1)
    pod(world, "young")
    pod(world, "urgent", priority=10)
    assert placed(world) == {"urgent": "a", "old-a": "a", "old-b": "a", "young": ""}


@pytest.mark.parametrize(
    "spec", [{"schedulingGates": [{"name": "later"}]}, {"schedulerName": "mine"}, {"nodeName": "elsewhere"}]
)
def test_pods_that_are_not_ours_to_place_are_left_alone(spec: Json) -> None:
    world = World()
    node(world, "a")
    pod(world, "web", **spec)
    decision = world.decide(DECIDER, BATCH)
    assert (decision.verdict, decision.effects) == (SETTLED, ())


def test_a_pod_that_is_being_deleted_is_not_placed() -> None:
    world = World()
    node(world, "a")
    world.add(
        PODS, "web", metadata={"finalizers": ["example.com/hold"]},
        spec={"containers": [{"name": "main", "image": "a"}]},
    )  # fmt: skip
    world.delete(PODS, "web")
    assert placed(world) == {"web": ""}


def test_a_turn_binds_at_most_so_many_and_the_next_goes_on() -> None:
    world = World()
    node(world, "a", pods="100", cpu="100")
    for number in range(EFFECTS_MAX + 5):
        pod(world, f"p{number:03}")
    assert len(world.decide(DECIDER, BATCH).effects) == EFFECTS_MAX
    assert set(placed(world).values()) == {"a"}


def test_every_change_of_a_pod_or_node_wakes_the_one_key() -> None:
    assert tuple(DECIDER.keys("nodes", None, None)) == (BATCH,)

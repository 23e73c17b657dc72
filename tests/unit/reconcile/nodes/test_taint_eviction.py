"""Taints NoExecute drive pods out by their tolerations, as Kubernetes' taint manager does; silent nodes' are left."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.key import Key
from fairlead.model.policy.evidence_rows import default_spec
from fairlead.model.views import NODES, PODS
from tests.unit.reconcile.nodes.silent_world import SilentWorld

BROKEN = {"key": "broken", "value": "yes", "effect": "NoExecute"}


def world_with(tolerations: list[dict[str, Any]], spec: Any = None) -> SilentWorld:
    world = SilentWorld({"n1": "a", "n2": "a"}, spec)
    world.add(PODS, "p", spec={"containers": [{"name": "main", "image": "x"}], "tolerations": tolerations})
    world.set_pod("p", "Running", ready=True, node="n1")
    return world


def taint(world: SilentWorld, **fields: str) -> None:
    world.edit(NODES, "n1", {"spec": {"taints": [{**BROKEN, **fields}]}}, "")


def is_leaving(world: SilentWorld) -> bool:
    return "deletionTimestamp" in world.objects[Key(PODS.name, "default", "p")]["metadata"]


@pytest.mark.parametrize(
    ("tolerations", "leaves_after"),
    [
        ([], 0),
        ([{"key": "other", "operator": "Exists"}], 0),
        ([{"key": "broken", "operator": "Equal", "value": "no", "effect": "NoExecute"}], 0),
        ([{"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}], 30),
        (
            [
                {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 50},
                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20},
            ],
            20,
        ),
        ([{"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -5}], 0),
        ([{"key": "broken", "operator": "Equal", "value": "yes", "effect": "NoExecute"}], None),
        ([{"operator": "Exists"}], None),
    ],
)
def test_a_pod_leaves_when_its_tolerations_end(
    tolerations: list[dict[str, Any]], leaves_after: int | None
) -> None:
    world = world_with(tolerations)
    taint(world)
    left = None
    for second in range(60):
        world.run(1)
        if is_leaving(world):
            left = second
            break
    assert left == leaves_after
    if left is not None:
        status = world.objects[Key(PODS.name, "default", "p")]["status"]
        (target,) = (each for each in status["conditions"] if each["type"] == "DisruptionTarget")
        assert target["reason"] == "DeletionByTaintManager"
        assert "EvidencePolicy/default row NodeTainted" in target["message"]


@pytest.mark.parametrize("effect", ["NoSchedule", "PreferNoSchedule"])
def test_other_effects_drive_nobody_out(effect: str) -> None:
    world = world_with([])
    taint(world, effect=effect)
    world.run(20)
    assert not is_leaving(world)


def test_a_taint_that_is_taken_back_in_time_has_no_effect() -> None:
    world = world_with(
        [{"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}]
    )
    taint(world)
    world.run(20)
    world.edit(NODES, "n1", {"spec": {"taints": None}}, "")
    world.run(60)
    assert not is_leaving(world)


def test_pods_of_a_node_that_is_out_of_reach_are_not_deleted() -> None:
    world = world_with(
        [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}]
    )
    world.hush("n1")
    world.run(50)
    taints = world.objects[Key(NODES.name, "", "n1")]["spec"]["taints"]
    world.edit(NODES, "n1", {"spec": {"taints": [*taints, BROKEN]}}, "")
    world.run(100)
    assert not is_leaving(world)


def test_a_node_s_own_word_cites_its_row() -> None:
    world = world_with(
        [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 5,
            }
        ]
    )
    world.edit_status(NODES, "n1", {"conditions": [{"type": "Ready", "status": "False"}]}, "")
    world.run(9)
    assert is_leaving(world)
    conditions = world.objects[Key(PODS.name, "default", "p")]["status"]["conditions"]
    assert any("row NodeNotReady" in each.get("message", "") for each in conditions)


def test_without_a_row_nobody_is_driven_out() -> None:
    spec = default_spec()
    spec["rows"] = [row for row in spec["rows"] if row["name"] != "NodeTainted"]
    world = world_with([], spec)
    taint(world)
    world.run(30)
    assert not is_leaving(world)

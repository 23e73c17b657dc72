"""What was foreseen of an override against what happened: the same counting on both sides, and what an error costs."""

from __future__ import annotations

from functools import cache
from typing import Any

from fairlead.cli.override.preview import change_of, preview_of
from fairlead.sim.backup import EMPTY
from fairlead.sim.preview.change import ProposedChange
from fairlead.sim.preview.nodes import Behaviour
from fairlead.sim.preview.preview import preview
from fairlead.sim.preview.scoring import score, what_happened
from fairlead.sim.preview.state import LiveState
from fairlead.sim.preview.world import PreviewWorld
from tests.sim.preview.states import NOW, came_to, deployment, made, taken

Json = dict[str, Any]


@cache
def shop() -> LiveState:
    return made([deployment("web", 6), deployment("api", 2)])


def drain(approval: str = "") -> ProposedChange:
    spec = {
        "target": "zone/zone-0",
        "reason": "works",
        "expiresAfter": "30m",
        "changes": {"drain": True},
        "approval": approval,
    }
    meta = {"name": "works", "namespace": "kube-system"}
    return change_of(
        {"apiVersion": "fairlead.dev/v1", "kind": "SchedulerOverride", "metadata": meta, "spec": spec}
    )


def test_a_drain_that_needs_approval_is_foreseen_as_if_it_had_it() -> None:
    """Two of four nodes are more than one person may close alone."""
    waits = preview(shop(), ProposedChange(drain().asks))
    assert not waits.workloads
    found = preview(shop(), drain("it closes 2 of 4 nodes"))
    assert sum(each.moved for each in found.workloads) == 4
    room = {(each.zone, each.resource): each.after for each in found.room}
    assert room["zone-0", "cpu"] == 0.0  # an override closes these nodes, not their own field


def test_what_came_as_foreseen_scores_in_full() -> None:
    change = drain("it closes 2 of 4 nodes")
    foreseen = preview_of(preview(shop(), change))
    found = score(foreseen, what_happened(shop(), came_to(shop(), change)))
    assert foreseen["moved"] == 4
    assert found.right == 1.0
    assert {each.workload: each.moved for each in found.workloads} == {
        each["workload"]: each["moved"] for each in foreseen["workloads"]
    }
    assert all(each.foreseen == each.happened for each in found.room)


def test_moves_that_were_not_foreseen_and_those_that_did_not_come_cost() -> None:
    happened = what_happened(shop(), came_to(shop(), drain("it closes 2 of 4 nodes")))
    nothing = score({"outcome": "Made"}, happened)
    assert (nothing.right, sum(each.moved for each in nothing.workloads)) == (0.0, 4)
    stayed = what_happened(shop(), shop())
    listed = [{"namespace": "default", "workload": "deployment/web", "moved": 4}]
    assert score({"outcome": "Made", "workloads": listed}, stayed).right == 0.0
    half = score({"outcome": "Made", "moved": 2, "more": 1}, happened)  # only sums can be compared
    assert half.right == 0.5
    assert score({"outcome": "Made"}, stayed).right == 1.0


def test_pods_that_waited_before_are_not_counted_as_waiting_for_it() -> None:
    full = made([deployment("web", 18)])  # 16 cpu in all
    assert not what_happened(full, full).pending
    empty = taken(PreviewWorld(EMPTY, NOW, Behaviour()))
    assert what_happened(empty, full).pending == {("default", "deployment/web"): 2}


def test_what_is_kept_of_a_preview_is_bounded() -> None:
    many = made([deployment(f"app-{number:02}", 1, "100m") for number in range(42)])
    found = preview_of(preview(many, drain("it closes 2 of 4 nodes")))
    assert len(found["workloads"]) == 20
    assert found["moved"] + found["pending"] == 20 + found["more"] > 20

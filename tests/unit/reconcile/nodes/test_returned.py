"""A node comes back whose pods were released: which of two stays is a rule, and there are never more than wanted."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.marks import AT_MOST_ONE, ON_RETURN, REPLACES
from fairlead.model.views import PODS, REPLICASETS
from tests.unit.reconcile.nodes.silent_world import SilentWorld
from tests.unit.reconcile.nodes.test_release import (
    GRACE,
    TOLERATIONS,
    _no_more_than,
    _pod,
    live,
    on,
    world_with,
)
from tests.unit.reconcile.world import template


def released(rule: str = "", *, start: bool = True, **more: str) -> tuple[SilentWorld, str, str]:
    """A world in which n1 was silent until its pod was released; the names of that pod and of its replacement."""
    annotations = {**({ON_RETURN: rule} if rule else {}), **more}
    world = world_with(2, deadline=40, annotations=annotations)
    (original,) = on(world, "n1")
    world.edit_status(PODS, original, {"containerStatuses": [{"name": "main", "ready": True}]})
    world.hush("n1")
    world.run(40 + GRACE + 15)
    (new,) = (pod.metadata.name for pod in world.list(PODS) if REPLACES in pod.metadata.annotations)
    if start:
        world.start_on("n3")
    return world, original, new


def come_back(world: SilentWorld, seconds: int = 12) -> None:
    world.silenced.clear()
    world.renew()
    world.run(seconds, lambda: _no_more_than(world, 2))
    world.stop_pods()
    world.run(seconds, lambda: _no_more_than(world, 2))


@pytest.mark.parametrize(
    ("rule", "replacement_runs", "stays"),
    [
        ("", True, "replacement"),
        ("keep-replacement", True, "replacement"),
        ("", False, "original"),
        ("keep-replacement", False, "original"),
        ("keep-original", True, "original"),
        ("keep-original", False, "original"),
        ("keep-newest", True, "replacement"),
        ("keep-newest", False, "original"),
        ("keep-both", True, "replacement"),  # what cannot be read is as good as none
    ],
)
def test_which_of_two_stays(rule: str, replacement_runs: bool, stays: str) -> None:
    world, original, new = released(rule, start=replacement_runs)
    come_back(world)
    kept, gone = (original, new) if stays == "original" else (new, original)
    assert kept in live(world)
    assert gone not in world.pods()
    assert len(world.pods()) == len(live(world)) == 2
    if stays == "original":
        assert world.released(original) == ("", "")
        assert _pod(world, original)["metadata"]["uid"] not in _replaced(world)


def test_where_at_most_one_may_run_the_original_never_counts_again() -> None:
    annotations: dict[str, Any] = {AT_MOST_ONE: "true"}
    world, original, new = released("keep-original", **annotations)
    come_back(world)
    assert original not in world.pods()
    assert new in live(world)


def test_an_original_that_nobody_misses_goes() -> None:
    world, _original, _new = released("keep-original", start=True)
    world.edit(REPLICASETS, "web", {"spec": {"replicas": 1}})
    world.run(1)
    world.stop_pods()
    come_back(world)
    assert len(world.pods()) == len(live(world)) == 1


def test_a_pod_without_an_owner_counts_again() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.add(PODS, "alone", spec=template(tolerations=TOLERATIONS)["spec"])
    world.set_pod("alone", "Running", ready=True, node="n1")
    world.edit_status(PODS, "alone", {"containerStatuses": [{"name": "main", "ready": True}]})
    world.hush("n1")
    world.run(40 + GRACE + 15)
    assert world.released("alone") == ("True", "NodeSilent")
    come_back(world)
    assert world.released("alone") == ("", "")
    assert "alone" in live(world)


@pytest.mark.parametrize("rule", ["keep-replacement", "keep-original", "keep-newest"])
def test_a_node_that_flaps_settles_with_the_right_number(rule: str) -> None:
    world, _, _ = released(rule)
    for _ in range(3):
        come_back(world, 3)
        world.hush("n1")
        world.run(90, lambda: _no_more_than(world, 2))
        world.start_on("n3")
    come_back(world)
    assert len(world.pods()) == len(live(world)) == 2
    before = world.revision
    world.settle_all()
    assert world.revision == before


def _replaced(world: SilentWorld) -> set[str]:
    return {pod.metadata.annotations.get(REPLACES, "") for pod in world.list(PODS) if pod.live}

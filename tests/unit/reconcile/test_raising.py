"""Whom an override raises: those of its target that wait, the oldest first, no more than it allows, until it ends."""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.views import OVERRIDES, PODS, REPLICASETS, SchedulerOverride
from fairlead.reconcile.overrides.decider import override_decider
from fairlead.reconcile.replicaset import replicaset_decider
from tests.unit.reconcile.test_overrides import workload
from tests.unit.reconcile.world import World

DECIDERS = (replicaset_decider(), override_decider(("scheduler",)))


def begun(replicas: int = 2, value: int = 1000, **more: Any) -> World:
    world = World()
    body: Json = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": value,
    }
    assert world.plane.post("/apis/scheduling.k8s.io/v1/priorityclasses", body)[0] == 201
    world.add(REPLICASETS, "web", spec=workload(replicas=3))
    world.settle(DECIDERS)
    lay(world, "rush", replicas, **more)
    world.settle(DECIDERS)
    return world


def lay(world: World, name: str, replicas: int, lasts: str = "10m", **more: Any) -> None:
    changes = {"priorityClassName": "urgent", "priorityReplicas": replicas}
    spec = {
        "target": "replicaset/web",
        "reason": "a drill",
        "expiresAfter": lasts,
        "changes": changes,
        **more,
    }
    world.add(OVERRIDES, name, spec=spec)


def found(world: World, name: str = "rush") -> SchedulerOverride:
    override = world.get(OVERRIDES, "default", name)
    assert override is not None
    return override


def raised(world: World, name: str = "rush") -> list[str]:
    return [each.name for each in found(world, name).status.raised]


def test_as_many_as_it_allows_and_the_next_when_one_is_gone() -> None:
    world = begun()
    names = [each.metadata.name for each in world.list(PODS)]
    first = raised(world)
    assert len(first) == 2
    assert set(first) < set(names)
    world.vanish(Key(PODS.name, "default", first[0]))
    world.settle(DECIDERS)
    (kept, new) = raised(world)
    assert (kept, new in first) == (first[1], False)


def test_nobody_above_its_value_and_nobody_after_its_end() -> None:
    assert raised(begun(value=0)) == []
    world = begun()
    world.tick(600)
    world.settle(DECIDERS)
    assert raised(world) == []
    assert found(world).status.active is False


def test_one_that_prolongs_another_goes_on_with_the_same_pods() -> None:
    world = begun(1)
    before = raised(world)
    world.tick(60)
    lay(world, "longer", 1, "20m", replaces="rush")
    world.settle(DECIDERS)
    assert raised(world, "longer") == before


def test_what_it_undoes_and_whom_it_concerns_is_told() -> None:
    status = found(begun()).status
    assert status.affected_controllers == ("overrides", "scheduler")
    (told,) = status.undo_plan
    assert told.startswith("pods of replicaset/web have their own priority again")
    assert {each.type: each.status for each in status.conditions}["SchedulerOverrideObserved"] == "True"

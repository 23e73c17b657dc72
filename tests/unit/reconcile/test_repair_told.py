"""RepairComplete on workloads: False while something of theirs is left over, True afterwards, and of which generation."""

from __future__ import annotations

from typing import Any

from fairlead.model.views import DEPLOYMENTS, REPLICASETS, Condition, Resource
from tests.unit.reconcile.test_repair import exists, pod, turn, world
from tests.unit.reconcile.world import World

TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
SPEC: dict[str, Any] = {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE}


def owned(found: World, kind: str, name: str) -> list[dict[str, Any]]:
    resource = {"ReplicaSet": REPLICASETS, "Deployment": DEPLOYMENTS}[kind]
    uid = there(found, resource, name).metadata.uid
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": True}]


def there(found: World, resource: Resource[Any], name: str) -> Any:
    view = found.get(resource, "default", name)
    assert view is not None
    return view


def condition(found: World, name: str = "web") -> Condition | None:
    told = there(found, DEPLOYMENTS, name).status.conditions
    return next((each for each in told if each.type == "RepairComplete"), None)


def with_workload() -> World:
    found = world()
    found.add(DEPLOYMENTS, "web", spec=SPEC)
    found.add(DEPLOYMENTS, "other", spec=SPEC)
    found.add(
        REPLICASETS, "web-1", metadata={"ownerReferences": owned(found, "Deployment", "web")}, spec=SPEC
    )
    return found


def test_a_workload_without_anything_left_over_says_nothing() -> None:
    found = with_workload()
    pod(found, ownerReferences=owned(found, "ReplicaSet", "web-1"))
    assert turn(found).effects == ()
    assert condition(found) is None


def test_it_is_false_while_something_is_left_over_and_true_afterwards() -> None:
    found = with_workload()
    pod(found, node="gone", phase="Succeeded", ownerReferences=owned(found, "ReplicaSet", "web-1"))
    turn(found)
    told = condition(found)
    assert told is not None
    assert (told.status, told.reason, told.message) == (
        "False",
        "LeftOver",
        "left over: EndedPodOnMissingNode of one",
    )
    assert told.observed_generation == there(found, DEPLOYMENTS, "web").metadata.generation
    assert condition(found, "other") is None
    found.now += 60
    turn(found)
    assert not exists(found)
    turn(found)
    told = condition(found)
    assert told is not None
    assert (told.status, told.reason) == ("True", "NothingLeftOver")
    assert turn(found).effects == ()


def test_a_new_generation_is_said_anew() -> None:
    found = with_workload()
    pod(found, node="gone", phase="Succeeded", ownerReferences=owned(found, "ReplicaSet", "web-1"))
    for _ in range(3):
        turn(found)
        found.now += 60
    found.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 7}})
    turn(found)
    told = condition(found)
    assert told is not None
    assert (told.status, told.observed_generation) == ("True", 2)

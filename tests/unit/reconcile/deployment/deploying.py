"""Shorthands for the Deployment tests: a world with both Deciders, one Deployment `web`, and ways to look at it."""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS, PODS, REPLICASETS, Deployment, ReplicaSet
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.reconcile.replicaset import replicaset_decider
from tests.unit.reconcile.world import World, selector, template

DEPLOYMENT, REPLICASET = deployment_decider(), replicaset_decider()
BOTH = (DEPLOYMENT, REPLICASET)
KEY = Key("deployments.apps", "default", "web")
REVISION = "deployment.kubernetes.io/revision"


def deployed(replicas: int = 3, image: str = "v1", **spec: Any) -> World:
    """A Deployment that was just created."""
    world = World()
    fields = {"selector": selector(), "template": template(image=image), "replicas": replicas, **spec}
    world.add(DEPLOYMENTS, "web", spec=fields)
    return world


def running(replicas: int = 3, image: str = "v1", **spec: Any) -> World:
    """A Deployment whose first rollout is complete."""
    world = deployed(replicas, image, **spec)
    finish(world)
    return world


def rolling(surge: int | str, unavailable: int | str) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def set_image(world: World, image: str) -> None:
    containers = [{**world.objects[KEY]["spec"]["template"]["spec"]["containers"][0], "image": image}]
    world.edit(DEPLOYMENTS, "web", {"spec": {"template": {"spec": {"containers": containers}}}})


def finish(world: World, rounds: int = 100) -> None:
    """Pods start, become ready and stop, time goes on, until nothing changes."""
    for _ in range(rounds):
        turns = world.settle(BOTH)
        if turns + world.stop_pods() + world.start_pods():
            world.tick(1)
            continue
        later = [
            at
            for each in BOTH
            for key in world.keys(each)
            if (at := each.decide(world, key, world.now).again_at)
        ]
        if not later:
            return
        world.now = min(later)
    raise AssertionError("the rollout does not end")


def deployment(world: World) -> Deployment:
    found = world.get(DEPLOYMENTS, "default", "web")
    assert found is not None
    return found


def of_image(world: World, image: str) -> ReplicaSet:
    (found,) = [each for each in world.list(REPLICASETS) if image_of(each) == image]
    return found


def image_of(found: ReplicaSet) -> str:
    return str(found.spec.template["spec"]["containers"][0]["image"])


def sizes(world: World) -> dict[str, int]:
    """Replicas asked for, by image."""
    return {image_of(found): found.spec.replicas for found in world.list(REPLICASETS)}


def condition(world: World, kind: str) -> Any:
    found = [each for each in world.objects[KEY]["status"].get("conditions", ()) if each["type"] == kind]
    return found[0] if found else None


def live(world: World) -> int:
    return sum(pod.live for pod in world.list(PODS))

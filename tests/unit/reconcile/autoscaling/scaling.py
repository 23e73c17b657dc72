"""An autoscaled Deployment in a `World`: its pods, what they use, and looks of the autoscaler at intervals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairlead.decision.contract import Decision
from fairlead.model.key import Key
from fairlead.model.marks import HOLLOW_USAGE
from fairlead.model.views import AUTOSCALERS, DEPLOYMENTS, PODS
from fairlead.reconcile.autoscaling.decider import autoscaler_decider
from fairlead.reconcile.deployment.decider import deployment_decider
from fairlead.reconcile.replicaset import replicaset_decider
from tests.unit.reconcile.world import World, selector, template

Json = dict[str, Any]
AUTOSCALER = autoscaler_decider()
WORKLOADS = (deployment_decider(), replicaset_decider())
KEY = Key(AUTOSCALERS.name, "default", "web")
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
}
WARM = 400.0  # seconds after which the CPU of a pod is no longer that of its start


def containers(cpu: str | None = "100m") -> list[Json]:
    needs = {"resources": {"requests": {"cpu": cpu}}} if cpu is not None else {}
    return [{"name": "main", "image": "web:1", **needs}]


def scaled(
    replicas: int = 2, *, metrics: Iterable[Json] = (CPU,), cpu: str | None = "100m", **spec: Any
) -> World:
    """A Deployment with ready, warm pods, and its autoscaler, which was not looked at yet."""
    world = World()
    pods = template(containers=containers(cpu))
    world.add(DEPLOYMENTS, "web", spec={"replicas": replicas, "selector": selector(), "template": pods})
    world.settle(WORKLOADS)
    world.start_pods()
    world.settle(WORKLOADS)
    world.tick(WARM)
    add_autoscaler(world, metrics=list(metrics), **spec)
    return world


def add_autoscaler(world: World, name: str = "web", **spec: Any) -> None:
    metadata = spec.pop("metadata", {})
    fields = {"scaleTargetRef": TARGET, "minReplicas": 1, "maxReplicas": 20, **spec}
    world.add(AUTOSCALERS, name, metadata=metadata, spec=fields)


def use(world: World, cpu: str, chosen: Iterable[str] | None = None) -> None:
    """What each pod uses from now on."""
    names = {pod.metadata.name for pod in world.list(PODS) if pod.live} if chosen is None else set(chosen)
    for name in sorted(names):
        world.edit(PODS, name, {"metadata": {"annotations": {HOLLOW_USAGE: f"cpu={cpu}"}}})


def look(world: World, seconds: float = 0.0) -> Decision:
    """One turn of the autoscaler after so many seconds."""
    world.tick(seconds)
    return world.turn(AUTOSCALER, "web")


def follow(world: World) -> None:
    """The Deployment's pods come and go, and are ready and warm."""
    world.settle(WORKLOADS)
    world.stop_pods()
    world.start_pods()
    world.settle(WORKLOADS)


def replicas(world: World) -> int:
    number: int = world.objects[Key(DEPLOYMENTS.name, "default", "web")]["spec"]["replicas"]
    return number


def status(world: World) -> Json:
    found: Json = world.objects[KEY]["status"]
    return found


def condition(world: World, kind: str) -> tuple[str, str]:
    """Status and reason."""
    found = next(each for each in status(world)["conditions"] if each["type"] == kind)
    return found["status"], found["reason"]


def message(world: World, kind: str) -> str:
    text: str = next(each for each in status(world)["conditions"] if each["type"] == kind)["message"]
    return text

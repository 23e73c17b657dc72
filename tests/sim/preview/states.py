"""States of planes to look ahead from, made by running one: nodes in two zones, workloads at rest on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.core import codec
from fairlead.port.request import MERGE_PATCH, Reply, Request
from fairlead.sim.backup import EMPTY
from fairlead.sim.preview.change import ProposedChange, carry_out, key_of
from fairlead.sim.preview.nodes import Behaviour
from fairlead.sim.preview.state import LiveState, backup_of_state, live_state
from fairlead.sim.preview.world import PreviewWorld
from fairlead.sim.scenario import create

Json = dict[str, Any]
NOW = 1_800_000_000
_LABELS = "topology.kubernetes.io/zone"


def deployment(name: str, replicas: int, cpu: str = "1", **spec: Any) -> tuple[str, str, Json]:
    labels = {"app": name}
    pod = {"containers": [{"name": "main", "image": name, "resources": {"requests": {"cpu": cpu}}}], **spec}
    body = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return "apps/v1", "deployments", {"kind": "Deployment", "metadata": {"name": name}, "spec": body}


def autoscaler(name: str, least: int, most: int) -> tuple[str, str, Json]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
    spec = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most, "metrics": [metric]}
    kind = "HorizontalPodAutoscaler"
    return (
        "autoscaling/v2",
        "horizontalpodautoscalers",
        {"kind": kind, "metadata": {"name": name}, "spec": spec},
    )


def node(name: str, zone: str, cpu: str) -> Json:
    room = {"cpu": cpu, "memory": "8Gi", "pods": "20"}
    status = {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"kind": "Node", "metadata": {"name": name, "labels": {_LABELS: zone}}, "status": status}


def made(
    objects: Sequence[tuple[str, str, Json]], nodes: int = 4, cpu: str = "4", rested: bool = True
) -> LiveState:
    """What a plane with these objects has come to; or what it was given, if it is not to have rested."""
    world = PreviewWorld(
        EMPTY, NOW, Behaviour(), [f"{plural}.{version.partition('/')[0]}" for version, plural, _ in objects]
    )
    for name in ("default", "kube-system"):
        ask(
            world,
            create(0, "v1", "namespaces", {"kind": "Namespace", "metadata": {"name": name}}, "").request,
        )
    world.timeline.run_until(100)
    for number in range(nodes):
        body = node(f"node-{number}", f"zone-{number % 2}", cpu)
        ask(world, create(0, "v1", "nodes", body, "").request)
    for version, plural, body in objects:
        space = "" if plural == "customresourcedefinitions" else "default"
        ask(world, create(0, version, plural, body, space).request)
    if rested:
        assert world.settle(120)
    else:
        world.timeline.run_until(200)
    return taken(world)


def taken(world: PreviewWorld) -> LiveState:
    stored = [(entry.key.resource, entry.data) for entry in world.server.stored()]
    return live_state(stored, NOW + world.seconds, world.server.store.revision)


def came_to(state: LiveState, change: ProposedChange) -> LiveState:
    """The state that a plane comes to with the change: here the same code as a live one's."""
    brings = [key_of(each).resource for each in change.asks]
    world = PreviewWorld(backup_of_state(state), int(state.now), Behaviour(), brings)
    world.settle(60)
    carry_out(world, change, [])
    world.settle(240)
    return taken(world)


def ask(world: PreviewWorld, request: Request) -> None:
    def answered(reply: Reply | None) -> None:
        assert reply is not None
        assert reply.status < 300, reply

    world.ask(request, answered)


def edit(
    plural: str,
    name: str,
    patch: Json,
    group: str = "apps",
    namespace: str = "default",
    subresource: str = "",
) -> Request:
    return Request(
        verb="patch",
        group=group,
        version="v1",
        plural=plural,
        namespace=namespace,
        name=name,
        subresource=subresource,
        body=codec.encode(patch),
        content_type=MERGE_PATCH,
    )


def deletion(plural: str, name: str, group: str = "", namespace: str = "default") -> Request:
    return Request(verb="delete", group=group, version="v1", plural=plural, namespace=namespace, name=name)


def names(state: LiveState, resource: str) -> list[str]:
    return sorted(key.name for key, _ in state.objects if key.resource == resource)

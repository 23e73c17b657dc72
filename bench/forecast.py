"""How long the preview of an override takes: the drain of one of three zones, on so many nodes and pods.

    python bench/forecast.py [--nodes 1000] [--deployments 200] [--replicas 50]

Prints JSON: seconds of processor time of each part, and what the forecast said, so that a figure is of the same work. The
state is made by running a plane in virtual time first, which takes longer than the forecast and is not counted; reading
it over the API is not either. `calibration` is the processor time of a fixed loop: a busy machine makes all of it longer.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from typing import Any

from fairlead.cli.override.preview import change_of
from fairlead.model.marks import HOSTNAME, ZONE
from fairlead.model.pod_decoder import decode_pod
from fairlead.model.views import PODS
from fairlead.port.request import Reply, Request
from fairlead.sim.backup import EMPTY, Backup
from fairlead.sim.preview.nodes import Behaviour, behaviour_of
from fairlead.sim.preview.preview import preview
from fairlead.sim.preview.state import LiveState, backup_of_state, live_state
from fairlead.sim.preview.world import PreviewWorld
from fairlead.sim.scenario import create

_EPOCH = 1_800_000_000
_ROOM = {"cpu": "32", "memory": "128Gi", "pods": "110"}
_ZONES = 3
_DRAIN = {
    "apiVersion": "fairlead.dev/v1",
    "kind": "SchedulerOverride",
    "metadata": {"name": "empty", "namespace": "kube-system"},
    "spec": {
        "target": "zone/zone-0",
        "reason": "a bench",
        "owner": "bench",
        "expiresAfter": "30m",
        "changes": {"drain": True},
    },
}
Json = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--deployments", type=int, default=200)
    parser.add_argument("--replicas", type=int, default=50)
    options = parser.parse_args()
    state = _state(options.nodes, options.deployments, options.replicas)
    gc.collect()
    gc.disable()
    began = time.process_time()
    found = preview(state, change_of(_DRAIN), 300.0)
    seconds = time.process_time() - began
    told = {
        "objects": len(state.objects),
        "anyway": found.anyway,
        "moved": sum(each.moved for each in found.workloads),
        "pending": found.pending,
        "settled_after_seconds": found.seconds,
        "cpu_seconds": round(seconds, 2),
        "calibration": _calibration(),
    }
    print(json.dumps(told, indent=2))


def _calibration() -> float:
    began, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return round(time.process_time() - began, 2)


def _state(nodes: int, deployments: int, replicas: int) -> LiveState:
    world = PreviewWorld(EMPTY, _EPOCH, Behaviour(), ("deployments.apps",))
    for name in ("default", "kube-system"):
        body: Json = {"kind": "Namespace", "metadata": {"name": name}}
        _ask(world, create(0, "v1", "namespaces", body, "").request)
    world.timeline.run_until(100)
    for number in range(nodes):
        _ask(world, create(0, "v1", "nodes", _node_body(number), "").request)
    for number in range(deployments):
        _ask(world, create(0, "apps/v1", "deployments", _deployment(f"app-{number}", replicas)).request)
    state = _settled(world, _EPOCH)
    while (again := PreviewWorld(*_beginning(state))).settle(3600) and again.commits:
        state = _settled(again, int(state.now))  # a plane that is looked ahead for has long come to rest
    return state


def _beginning(state: LiveState) -> tuple[Backup, int, Behaviour]:
    backup = backup_of_state(state)
    entries = [each.entry for each in backup.changes]
    pods = [decode_pod(each.data) for each in entries if each.key.resource == PODS.name]
    return backup, int(state.now), behaviour_of(pods)


def _settled(world: PreviewWorld, epoch: int) -> LiveState:
    if not world.settle(3600):
        raise SystemExit("the plane did not come to rest")
    stored = [(entry.key.resource, entry.data) for entry in world.server.stored()]
    return live_state(stored, epoch + world.seconds)


def _ask(world: PreviewWorld, request: Request) -> None:
    def answered(reply: Reply | None) -> None:
        if reply is None or reply.status >= 300:
            raise SystemExit(f"refused: {reply}")

    world.ask(request, answered)


def _node(number: int) -> str:
    return f"node-{number:04}"


def _node_body(number: int) -> Json:
    labels = {ZONE: f"zone-{number % _ZONES}", HOSTNAME: _node(number)}
    status = {"allocatable": _ROOM, "capacity": _ROOM, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"kind": "Node", "metadata": {"name": _node(number), "labels": labels}, "status": status}


def _deployment(name: str, replicas: int) -> Json:
    container = {"name": "main", "image": name, "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": spec}


if __name__ == "__main__":
    main()

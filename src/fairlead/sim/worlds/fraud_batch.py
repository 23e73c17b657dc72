"""`fraud-batch`: a workload of three, one binding of which nobody hears again, repaired in stages.

The worked example of reconciliation in small: three copies are wanted, each fills a node, and what becomes of a binding
is unknown: its answer is lost, before or after the commit, or its node never reports. A fourth live copy must never be
made; the failed binding is released before its replacement is. Faults are frequent, so that over a few seeds every
write meets every fault; people play the monitor of nodes.

    0 s     node-gpu-10 and node-gpu-11, which run what is bound to them; node-gpu-7, which takes a pod and is silent
    2 s     ReplicaSet fraud-batch wants 3
    40 s    node-gpu-7 is marked unknown and closed; within the grace period nothing else happens
    80 s    the grace period is over: what is bound to node-gpu-7 is released; node-gpu-12 joins
    140 s   node-gpu-7 is known to be dead: what is left on it goes, then the node
"""

from __future__ import annotations

from fairlead.core import codec
from fairlead.port.request import Request
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, patch

SILENT = "node-gpu-7"
FAULTS = Faults(
    request_lost=0.04,
    request_late=0.03,
    reply_lost=0.06,
    crash_at_write=0.03,
    sync_slow=0.02,
    sync_failed=0.01,
    list_lost=0.05,
    watch_lag=0.05,
    watch_broken=0.02,
    incident=0.25,
    clock_skew=0.5,
)


def scenario() -> Scenario:
    return Scenario(
        name="fraud-batch",
        steps=_steps(),
        hollow_prefix="node-gpu-1",
        planes=2,
        faults_until_seconds=180.0,
        seconds_min=240.0,
        seconds_max=900.0,
        quiet_seconds=60.0,
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        *(_node(0.1, name) for name in ("node-gpu-10", "node-gpu-11", SILENT)),
        create(2.0, "apps/v1", "replicasets", _workload()),
        patch(40.0, "v1", "nodes", SILENT, {"spec": {"unschedulable": True}}, ""),
        patch(40.0, "v1", "nodes", SILENT, {"status": {"conditions": [_ready("Unknown")]}}, "", "status"),
        _released(80.0, {}),
        _node(80.0, "node-gpu-12"),
        _released(140.0, {"gracePeriodSeconds": 0}),
        delete(145.0, "v1", "nodes", SILENT, ""),
    )


def _node(at: float, name: str) -> ScenarioStep:
    room = {"cpu": "32", "memory": "256Gi", "pods": "110"}
    status = {"allocatable": room, "capacity": room, "conditions": [_ready("True")]}
    return create(at, "v1", "nodes", {"kind": "Node", "metadata": {"name": name}, "status": status}, "")


def _ready(status: str) -> Json:
    return {
        "type": "Ready",
        "status": status,
        "reason": "NodeStatusUnknown" if status == "Unknown" else "Ready",
    }


def _workload() -> Json:
    container = {"name": "main", "image": "fraud:1", "resources": {"requests": {"cpu": "20"}}}
    return {
        "kind": "ReplicaSet",
        "metadata": {"name": "fraud-batch"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "fraud-batch"}},
            "template": {"metadata": {"labels": {"app": "fraud-batch"}}, "spec": {"containers": [container]}},
        },
    }


def _released(at: float, options: Json) -> ScenarioStep:
    """What is bound to the silent node goes, as its owner's monitor asks for it."""
    body = {"kind": "DeleteOptions", "apiVersion": "v1", **options}
    query = {"fieldSelector": f"spec.nodeName={SILENT}"}
    request = Request("deletecollection", "", "v1", "pods", "default", query=query, body=codec.encode(body))
    return ScenarioStep(at, request)

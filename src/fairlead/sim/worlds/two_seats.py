"""`two-seats`: two nodes with room for one pod each, pods that come and go in pairs, answers that are lost often.

A placement whose answer is lost was made or not: a scheduler that guesses puts two pods on one node.

0 s     node-0 and node-1, of 32 cpu
10 s    ReplicaSets left and right, a pod of 20 cpu each
40 s    both are scaled down to nothing, at 45 s up again; so at 70 and 75 s
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import together

FAULTS = Faults(
    request_lost=0.02,
    request_late=0.1,
    reply_lost=0.2,
    watch_lag=0.4,
    incident=0.4,
    incidents=(("plane_pause", 3), ("plane_crash", 1), ("partition", 1), ("partition_of_replies", 2)),
    clock_skew=0.5,
)

_SETS = ("left", "right")


def scenario() -> Scenario:
    return replace(
        together.scenario(),
        name="two-seats",
        standing=tuple(
            create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": f"node-{number}"}}, "")
            for number in range(2)
        ),
        steps=_steps(),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        *(create(10.0, "apps/v1", "replicasets", _set(name)) for name in _SETS),
        *(
            patch(at, "apps/v1", "replicasets", name, {"spec": {"replicas": replicas}})
            for at, replicas in ((40.0, 0), (45.0, 1), (70.0, 0), (75.0, 1))
            for name in _SETS
        ),
    )


def _set(name: str) -> Json:
    container = {"name": "main", "image": f"{name}:1", "resources": {"requests": {"cpu": "20"}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}

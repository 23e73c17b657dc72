"""`silent-drain`: somebody drains a node while the node of the other pod is silent, and nothing is marked yet.

What the silent pod last said is that it is ready, so that the budget seems to have room.

    0 s     node-a1 and node-b1; a renewal is missed after 7.5 s, a node suspected only after 200 s of silence
    3 s     StatefulSets one (a pod, on node-a1) and two (a pod, on node-b1); a budget wants one of both pods healthy
    25 s    node-a1 is cut off
    45 s    two-0 is to be evicted, and is asked for until it goes
    100 s   node-a1 is heard again: two-0 may go
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.model.marks import ZONE
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Mishap, Scenario, ScenarioStep, create, evict
from fairlead.sim.worlds import fraud_batch, nodes

SILENT = "node-a1"
FAULTS: Faults = fraud_batch.FAULTS
_GUARDED = {"guarded": "yes"}


def scenario() -> Scenario:
    return replace(
        nodes.FRAME,
        name="silent-drain",
        steps=_steps(),
        faults_from_seconds=24.0,  # both pods run then in every run
        faults_until_seconds=110.0,
        seconds_min=150.0,
        nodes=tuple(map(nodes.settings, (SILENT, "node-b1"))),
        mishaps=(Mishap(25.0, "agent_cut", SILENT, 75.0),),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    spec = {"minAvailable": 1, "selector": {"matchLabels": _GUARDED}}
    budget = {"kind": "PodDisruptionBudget", "metadata": {"name": "both"}, "spec": spec}
    return (
        nodes.policy(300.0, forget_seconds=3600.0, suspect_seconds=200.0),
        create(3.0, "policy/v1", "poddisruptionbudgets", budget),
        create(3.0, "apps/v1", "statefulsets", _stateful("one", "zone-a")),
        create(3.0, "apps/v1", "statefulsets", _stateful("two", "zone-b")),
        evict(45.0, "two-0"),
    )


def _stateful(name: str, zone: str) -> Json:
    made = nodes.template(name)
    made["metadata"]["labels"] |= _GUARDED
    made["spec"]["nodeSelector"] = {ZONE: zone}
    body = nodes.workload("StatefulSet", name, 1, made)
    body["spec"]["serviceName"] = name
    return body

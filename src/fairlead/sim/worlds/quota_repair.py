"""`quota-repair`: a Deployment of three under quotas of three loses a node for minutes, and is whole again.

Nothing but the quota of the pod that was released could make room for its replacement.

    0 s     node-a1, node-b1, node-c1; a node is suspected after 8 s of silence and given up after 20 s
    2 s     a ResourceQuota and a PlacementQuota of three pods
    3 s     Deployment web wants 3; its pods bear a silent node for 5 s
    25 s    node-a1 is cut off
    190 s   node-a1 is heard again
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Mishap, Scenario, ScenarioStep, create
from fairlead.sim.worlds import fraud_batch, nodes

LOST = "node-a1"
FAULTS: Faults = fraud_batch.FAULTS
_LIMIT = {"hard": {"pods": "3"}}


def scenario() -> Scenario:
    return replace(
        nodes.FRAME,
        name="quota-repair",
        steps=_steps(),
        faults_from_seconds=24.0,  # everything runs then in every run
        seconds_min=230.0,
        nodes=tuple(map(nodes.settings, (LOST, "node-b1", "node-c1"))),
        mishaps=(Mishap(25.0, "agent_cut", LOST, 165.0),),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        nodes.policy(forget_seconds=3600.0),
        create(2.0, "v1", "resourcequotas", _quota("ResourceQuota")),
        create(2.0, "fairlead.dev/v1", "placementquotas", _quota("PlacementQuota")),
        create(3.0, "apps/v1", "deployments", nodes.workload("Deployment", "web", 3, nodes.template("web"))),
    )


def _quota(kind: str) -> Json:
    return {"kind": kind, "metadata": {"name": "q"}, "spec": _LIMIT}

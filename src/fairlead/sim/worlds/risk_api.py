"""`risk-api`: a recovery replica is bound to a node whose heartbeat is delayed, and the answer to the binding is lost.

The worked example of partial progress in small: whether the binding was committed is found out by a look at the pod,
not by another binding; a node that is merely late gets nothing new and loses nothing.

    0 s     node-b7 and node-b8; a node is suspected after 8 s without a heartbeat and given up after 60 s
    5 s     Deployment risk-api wants 1: the scheduler selects node-b7. From here on node-b7 hears and tells nothing
    20 s    risk-api wants 2
    50 s    node-b7 is heard again
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Mishap, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import fraud_batch, nodes

LATE = "node-b7"
FAULTS: Faults = fraud_batch.FAULTS
_LEASE_SECONDS = 60


def scenario() -> Scenario:
    return replace(
        nodes.FRAME,
        name="risk-api",
        steps=_steps(),
        faults_until_seconds=110.0,
        seconds_min=150.0,
        nodes=tuple(
            structs.replace(nodes.settings(name), lease_seconds=_LEASE_SECONDS) for name in (LATE, "node-b8")
        ),
        mishaps=(Mishap(5.0, "agent_cut", LATE, 45.0),),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    workload = nodes.workload("Deployment", "risk-api", 1, nodes.template("risk-api"))
    return (
        nodes.policy(unknown_seconds=_LEASE_SECONDS),
        create(5.0, "apps/v1", "deployments", workload),
        patch(20.0, "apps/v1", "deployments", "risk-api", {"spec": {"replicas": 2}}),
    )

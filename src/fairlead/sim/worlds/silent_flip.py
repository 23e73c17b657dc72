"""`silent-flip`: a Deployment of two is half through a rollout when the node of its old pods falls silent, and the old
template is put back before anybody has given the node up.

What the old pods last said is that they are ready. The one new pod is all that works.

    0 s     node-a1 and node-b1; a node is suspected after 8 s of silence and given up after 40 s
    3 s     Deployment web wants 2, in the zone of node-a1; a pod counts once it was ready for 8 s
    20 s    its template asks for the zone of node-b1: one new pod comes
    24 s    the rollout is paused
    25 s    node-a1 is cut off
    58 s    the old template is put back, and the rollout goes on
    65 s    node-a1 is given up; 5 s later its pods are released, and their replacements find no node
    130 s   node-a1 is heard again
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.model.marks import ZONE
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Mishap, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import fraud_batch, nodes

SILENT = "node-a1"
FAULTS: Faults = fraud_batch.FAULTS


def scenario() -> Scenario:
    return replace(
        nodes.FRAME,
        name="silent-flip",
        steps=_steps(),
        faults_from_seconds=25.0,  # the rollout is half through then in every run
        faults_until_seconds=110.0,
        seconds_min=170.0,
        nodes=tuple(map(nodes.settings, (SILENT, "node-b1"))),
        mishaps=(Mishap(25.0, "agent_cut", SILENT, 105.0),),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        nodes.policy(40.0, forget_seconds=3600.0),
        create(3.0, "apps/v1", "deployments", _deployment()),
        patch(20.0, "apps/v1", "deployments", "web", {"spec": {"template": _template("zone-b")}}),
        patch(24.0, "apps/v1", "deployments", "web", {"spec": {"paused": True}}),
        patch(
            58.0, "apps/v1", "deployments", "web",
            {"spec": {"paused": False, "template": _template("zone-a")}},
        ),
    )  # fmt: skip


def _deployment() -> Json:
    body = nodes.workload("Deployment", "web", 2, _template("zone-a"))
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    body["spec"] |= {"strategy": strategy, "minReadySeconds": 8}
    return body


def _template(zone: str) -> Json:
    made = nodes.template("web")
    return {**made, "spec": {**made["spec"], "nodeSelector": {ZONE: zone}}}

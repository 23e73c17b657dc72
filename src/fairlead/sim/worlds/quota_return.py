"""`quota-return`: a node comes back to its pod, whose replacement found no other node, while a rival waits for quota.

0 s     node-a1 and node-b1; a node is suspected after 8 s of silence and given up after 20 s
2 s     a ResourceQuota of two pods
3 s     ReplicaSets web (a pod, on node-a1 only) and other (a pod, on node-b1)
10 s    ReplicaSet rival wants a pod: refused
25 s    node-a1 is cut off; the replacement of web's pod has its quota, and nowhere to go
120 s   node-a1 is heard again: the replacement goes, the original counts again
200 s   the quota is raised to three
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.model.marks import ZONE
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Mishap, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import fraud_batch, nodes

LOST = "node-a1"
FAULTS: Faults = fraud_batch.FAULTS


def scenario() -> Scenario:
    return replace(
        nodes.FRAME,
        name="quota-return",
        steps=_steps(),
        faults_from_seconds=24.0,
        seconds_min=230.0,
        nodes=tuple(map(nodes.settings, (LOST, "node-b1"))),
        mishaps=(Mishap(25.0, "agent_cut", LOST, 95.0),),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
    return (
        nodes.policy(forget_seconds=3600.0),
        create(2.0, "v1", "resourcequotas", quota),
        create(3.0, "apps/v1", "replicasets", _set("web", "zone-a")),
        create(3.0, "apps/v1", "replicasets", _set("other", "zone-b")),
        create(10.0, "apps/v1", "replicasets", _set("rival", "zone-b")),
        patch(200.0, "v1", "resourcequotas", "q", {"spec": {"hard": {"pods": "3"}}}),
    )


def _set(name: str, zone: str) -> Json:
    made = nodes.template(name)
    made["spec"]["nodeSelector"] = {ZONE: zone}
    return nodes.workload("ReplicaSet", name, 1, made)

"""`late-policy`: a node is deleted while the policy lets nothing become of its pods; its rows come later.

The pod must not wait for the plane to look at everything again.

    0 s      node-0; an EvidencePolicy without rows
    1 s      ReplicaSet web (a pod)
    8 s      node-1; node-0 is deleted
    12 s     its rows, by which pods of a deleted node are released after 40 s
    15 s     the last fault
"""

from __future__ import annotations

from fairlead.model.policy import evidence_rows as rows
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Scenario, create, delete, patch
from fairlead.sim.worlds import small

_POLICIES = "evidencepolicies.fairlead.dev"
_CONTROLLERS = (
    "replicaset", "garbage-collector", "node-health", "evidence-policy", "release", "returned", "repair",
)  # fmt: skip
# Whoever begins to lead looks at everything: planes stay up.
FAULTS = Faults(request_late=0.03, reply_lost=0.03, racing_write=0.05, queue_reordered=0.1, watch_lag=0.2)


def scenario() -> Scenario:
    policy = {"kind": "EvidencePolicy", "metadata": {"name": rows.NAME}, "spec": {"rows": []}}
    return Scenario(
        name="late-policy",
        steps=(
            small.node(),
            create(0.2, "fairlead.dev/v1", "evidencepolicies", policy, ""),
            create(1.0, "apps/v1", "replicasets", small.workload("ReplicaSet", "web", 1)),
            small.node(8.0, "node-1"),
            delete(8.0, "v1", "nodes", "node-0", ""),
            patch(12.0, "fairlead.dev/v1", "evidencepolicies", rows.NAME, {"spec": rows.default_spec()}, ""),
        ),
        hollow_prefix="node-",
        planes=1,
        faults_until_seconds=15.0,
        seconds_min=60.0,
        seconds_max=900.0,
        quiet_seconds=60.0,
        deciders=small.controllers(*_CONTROLLERS, kinds=(_POLICIES,)),
        leadership=small.LEADERSHIP,
    )

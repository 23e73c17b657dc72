"""`late-marks`: a node is away for a little longer than it may be, and the mark on its pod comes late.

What was written of its pods because it was given up can arrive when it is heard again.

    0 s      node-a1 and node-b1; a node is suspected after 8 s of silence and given up after 12 s
    3 s      ReplicaSet web (a pod, which bears the silence for a while before it is replaced)
    14 s     node-a1 is cut off for 14.2 s
    20 s     the next write of `release` arrives ten seconds late; a few other calls are late or lost until 35 s
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.faults import NodeFaults
from fairlead.sim.scenario import Mishap, PinnedFault, Scenario, create
from fairlead.sim.worlds import comeback, nodes

FAULTS = NodeFaults(request_late=0.05, request_lost=0.05, reply_lost=0.05)
_AWAY_SECONDS = 14.2


def scenario() -> Scenario:
    made = nodes.workload("ReplicaSet", "web", 1, nodes.template("web"))
    return replace(
        comeback.scenario(),
        name="late-marks",
        steps=(
            nodes.policy(unknown_seconds=12.0, forget_seconds=3600.0),
            create(3.0, "apps/v1", "replicasets", made),
        ),
        planes=1,
        faults_from_seconds=20.0,
        faults_until_seconds=35.0,
        seconds_min=60.0,
        quiet_seconds=60.0,
        pinned=(PinnedFault(20.0, "request_late", "leader", call="release patch pods/status"),),
        mishaps=(Mishap(14.0, "agent_cut", comeback.NODES[0], _AWAY_SECONDS),),
    )

"""`grow-kubernetes`: one ReplicaSet that becomes larger, on an API that can do no more than Kubernetes.

No fence stops a leader that was replaced: that two do not lead at once rests on how they judge a lease, on clocks that
are far apart. Nothing becomes smaller, because a deletion whose reason has gone meanwhile cannot be refused there.

    before   node-0, and ReplicaSet web with its pod
    4 s      it wants 2, and one more every four seconds, until it wants 14
    60 s     the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.control.leadership import UNFENCED
from fairlead.port.capabilities import KUBERNETES
from fairlead.sim.scenario import Scenario, create, patch
from fairlead.sim.worlds import small

FAULTS = replace(small.FAULTS, clock_skew=1.0)
_SETS = ("apps/v1", "replicasets")


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="grow-kubernetes",
        standing=(small.node(), create(1.0, *_SETS, small.workload("ReplicaSet", "web", 1))),
        steps=tuple(
            patch(4.0 * number, *_SETS, "web", {"spec": {"replicas": 1 + number}}) for number in range(1, 14)
        ),
        deciders=small.controllers("replicaset", "garbage-collector"),
        capabilities=KUBERNETES,
        leadership=UNFENCED,
    )

"""`comeback`: a node is away for a while, and comes back to a pod that has been replaced.

The replacement goes, and then the original counts again: two writes, between which the plane often dies.

    0 s      node-a1 and node-b1; a node is suspected after 8 s of silence and given up after 14 s
    3 s      ReplicaSet web (a pod, which counts again when its node is back)
    14 s     node-a1 is cut off for 30 s; the pod's replacement runs on node-b1
    44 s     node-a1 is heard again
    50 s     the first fault; 75 s: the last
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.model.marks import KEEP_ORIGINAL, ON_RETURN
from fairlead.sim.scenario import Mishap, Scenario, create
from fairlead.sim.worlds import nodes, small

_OF_NODES = ("node-health", "evidence-policy", "release", "returned", "repair", "taint-eviction")
NODES = ("node-a1", "node-b1")
_CONTROLLERS = ("replicaset", "garbage-collector", *_OF_NODES)
FAULTS = replace(
    small.FAULTS,
    request_lost=0.0,
    racing_write=0.0,
    crash_after_write=0.3,
    crash_at_write=0.05,
    list_stale=0.0,
    incident=0.0,
    clock_skew=0.0,
)


def scenario() -> Scenario:
    made = nodes.template("web", annotations={ON_RETURN: KEEP_ORIGINAL})
    return replace(
        nodes.FRAME,
        name="comeback",
        steps=(
            nodes.policy(unknown_seconds=14.0, forget_seconds=3600.0),
            create(3.0, "apps/v1", "replicasets", nodes.workload("ReplicaSet", "web", 1, made)),
        ),
        faults_from_seconds=50.0,
        faults_until_seconds=75.0,
        seconds_min=90.0,
        seconds_max=900.0,
        deciders=small.controllers(*_CONTROLLERS),
        leadership=small.LEADERSHIP,
        nodes=tuple(map(nodes.settings, NODES)),
        mishaps=(Mishap(14.0, "agent_cut", NODES[0], 30.0),),
    )

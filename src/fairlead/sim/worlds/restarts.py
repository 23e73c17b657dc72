"""`restarts`: a container ends and is started again for two minutes, and each time its node tells so by an Event.

However many answers are lost on the way, the Event is there once, and counts.

    0 s      node-a1
    3 s      Pod web, whose process ends after two seconds
    20 s     the last fault: until then answers are lost
    120 s    the pod is deleted
"""

from __future__ import annotations

from msgspec import structs

from fairlead.sim.faults import NodeFaults
from fairlead.sim.scenario import Scenario, create, delete
from fairlead.sim.worlds import nodes, small

FAULTS = NodeFaults(reply_lost=0.1, request_lost=0.05, request_late=0.02)


def scenario() -> Scenario:
    made = nodes.template("web", "work", "2")
    pod = {"kind": "Pod", "metadata": {"name": "web", **made["metadata"]}, "spec": made["spec"]}
    return Scenario(
        name="restarts",
        steps=(
            nodes.policy(forget_seconds=3600.0),
            create(3.0, "v1", "pods", pod),
            delete(120.0, "v1", "pods", "web"),
        ),
        hollow_prefix="hollow-",
        planes=1,
        faults_from_seconds=1.0,
        faults_until_seconds=20.0,
        seconds_min=130.0,
        seconds_max=900.0,
        quiet_seconds=60.0,
        controllers=nodes.CONTROLLERS,
        deciders=small.controllers(
            "garbage-collector", "node-health", "evidence-policy", "release", "returned"
        ),
        leadership=small.LEADERSHIP,
        nodes=(nodes.settings("node-a1"),),
        pace=structs.replace(nodes.PACE, crash_max_seconds=4.0),
    )

"""`fenced-full`: a pod that its deadline ended comes back to a server that has no room to be told of it.

0 s      node-a1, whose lease lasts 20 s; pods of silent nodes are left alone
3 s      StatefulSet one (a pod, of which at most one may run)
30 s     node-a1 is cut off for 25 s: the pod ends at its deadline
50 s     the disk is full, for two and a half minutes; 55 s: node-a1 is heard again, and its lease is renewed
"""

from __future__ import annotations

from fairlead.sim.scenario import DiskMishap, Mishap, Scenario, create
from fairlead.sim.worlds import bit_rot, nodes

NODE = "node-a1"
FAULTS = bit_rot.FAULTS


def scenario() -> Scenario:
    return Scenario(
        name="fenced-full",
        steps=(
            nodes.policy(unknown_seconds=600.0, forget_seconds=3600.0),
            create(
                3.0, "apps/v1", "statefulsets", nodes.workload("StatefulSet", "one", 1, nodes.template("one"))
            ),
        ),
        hollow_prefix="hollow-",
        planes=1,
        faults_from_seconds=20.0,
        faults_until_seconds=75.0,
        seconds_min=260.0,
        seconds_max=900.0,
        quiet_seconds=160.0,  # longer than the disk is full: until then everybody waits
        controllers=nodes.CONTROLLERS,
        leadership=bit_rot.LEADERSHIP,
        nodes=(nodes.settings(NODE),),
        pace=nodes.PACE,
        mishaps=(Mishap(30.0, "agent_cut", NODE, 25.0),),
        disk_mishaps=(DiskMishap(50.0, "disk_full", 150.0),),
    )

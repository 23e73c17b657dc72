"""`lost-log`: the newest changes are gone from the store's log, and planes that saw them must begin anew.

0 s     node-0
3 s     ReplicaSet web of two
20 s    web wants 4
21.5 s  up to 24 changes are lost; numbering goes on above the mark
40 s    people make namespaces, node-0 and web again, and ask for 4, as they may have to: all there was may be lost
"""

from __future__ import annotations

from fairlead.sim.endstate import MADE
from fairlead.sim.scenario import DiskMishap, Scenario, create, patch
from fairlead.sim.worlds import bit_rot

FAULTS = bit_rot.FAULTS
_SPACES = ("default", "kube-system")


def scenario() -> Scenario:
    return Scenario(
        name="lost-log",
        steps=(
            create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": "node-0"}}, ""),
            create(3.0, "apps/v1", "replicasets", bit_rot.workload("ReplicaSet", "web", 2)),
            patch(20.0, "apps/v1", "replicasets", "web", {"spec": {"replicas": 4}}),
            *(
                create(38.0, "v1", "namespaces", {"kind": "Namespace", "metadata": {"name": name}}, "")
                for name in _SPACES
            ),
            create(39.0, "v1", "nodes", {"kind": "Node", "metadata": {"name": "node-0"}}, ""),
            create(39.0, "apps/v1", "replicasets", bit_rot.workload("ReplicaSet", "web", 2)),
            patch(40.0, "apps/v1", "replicasets", "web", {"spec": {"replicas": 4}}),
        ),
        hollow_prefix="node-",
        planes=2,
        faults_from_seconds=20.0,
        faults_until_seconds=60.0,
        seconds_min=120.0,
        seconds_max=500.0,
        quiet_seconds=40.0,
        leadership=bit_rot.LEADERSHIP,
        allowed=(MADE,),
        disk_mishaps=(DiskMishap(21.5, "log_lost"),),
    )

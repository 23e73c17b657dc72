"""`lost-log`: the newest changes are gone from the store's log, and planes that saw them must begin anew.

0 s     node-0
3 s     ReplicaSet web of two
20 s    web wants 4; who asks for it gives up where there is no web any more
21.5 s  up to 24 changes are lost; numbering goes on above the mark
40 s    people make namespaces, node-0 and web again, and ask for 4, as they may have to: all there was may be lost
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.endstate import MADE
from fairlead.sim.scenario import DiskMishap, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import bit_rot

FAULTS = bit_rot.FAULTS
_SPACES = ("default", "kube-system")
_TRIES = 6  # whoever asks on keeps others from making it again: steps about one object wait for each other


def scenario() -> Scenario:
    return Scenario(
        name="lost-log",
        steps=(
            create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": "node-0"}}, ""),
            create(3.0, "apps/v1", "replicasets", bit_rot.workload("ReplicaSet", "web", 2)),
            replace(_more(20.0), tries=_TRIES),
            *(
                create(38.0, "v1", "namespaces", {"kind": "Namespace", "metadata": {"name": name}}, "")
                for name in _SPACES
            ),
            create(39.0, "v1", "nodes", {"kind": "Node", "metadata": {"name": "node-0"}}, ""),
            create(39.0, "apps/v1", "replicasets", bit_rot.workload("ReplicaSet", "web", 2)),
            _more(40.0),
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


def _more(at: float) -> ScenarioStep:
    return patch(at, "apps/v1", "replicasets", "web", {"spec": {"replicas": 4}})

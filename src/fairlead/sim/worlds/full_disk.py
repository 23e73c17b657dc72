"""`full-disk`: for a minute the disk has room for nothing but leases and deletions; then everything goes on.

0 s     node-0; a lease that people renew; two ConfigMaps
3 s     ReplicaSet web of two
20 s    the disk is full
22 s    web wants 4, and has them only when there is room
25 s    people renew the lease, again and again, and delete the ConfigMaps
80 s    there is room
"""

from __future__ import annotations

from fairlead.sim.scenario import DiskMishap, Scenario, ScenarioStep, create, delete, patch
from fairlead.sim.worlds import bit_rot

FAULTS = bit_rot.FAULTS
_LEASES = "coordination.k8s.io/v1"


def scenario() -> Scenario:
    return Scenario(
        name="full-disk",
        steps=(
            create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": "node-0"}}, ""),
            create(1.0, _LEASES, "leases", {"kind": "Lease", "metadata": {"name": "held"}}, "kube-system"),
            *(create(1.0, "v1", "configmaps", {"kind": "ConfigMap", "metadata": {"name": n}}) for n in "ab"),
            create(3.0, "apps/v1", "replicasets", bit_rot.workload("ReplicaSet", "web", 2)),
            patch(22.0, "apps/v1", "replicasets", "web", {"spec": {"replicas": 4}}),
            *(_renewed(at) for at in (25.0, 32.0, 39.0, 46.0, 53.0, 60.0)),
            delete(30.0, "v1", "configmaps", "a"),
            delete(50.0, "v1", "configmaps", "b"),
        ),
        hollow_prefix="node-",
        planes=2,
        faults_from_seconds=20.0,
        faults_until_seconds=75.0,
        seconds_min=140.0,
        seconds_max=500.0,
        quiet_seconds=40.0,
        leadership=bit_rot.LEADERSHIP,
        disk_mishaps=(DiskMishap(20.0, "disk_full", 60.0),),
    )


def _renewed(at: float) -> ScenarioStep:
    return patch(
        at, _LEASES, "leases", "held", {"spec": {"holderIdentity": f"people-{at:.0f}"}}, "kube-system"
    )

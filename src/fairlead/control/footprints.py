"""What each controller, the scheduler, nodes and steps of admission read and write, field by field
(`decision/footprint.py`).

`OBSERVED` was seen in worlds of the simulator and is written by `python -m tests.sim.footprints_table`; what a
world shows that is not in it fails a test. `DECLARED` is by hand: what no world has. Read by `explain/coupling/`
and the generator of the documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from fairlead.control.footprint_rows import OBSERVED
from fairlead.decision.footprint import ANY, Footprint, merged, parse_table

PEOPLE = "people"
_NONE: frozenset[str] = frozenset()
# Who writes what only they may, and what no world happens to show.
DECLARED = """
admission:FinalizerRemoved writes events create
admission:FinalizerRemoved writes pods metadata.annotations[fairlead.dev/guard-removed]
admission:LimitRanger writes pods spec.containers spec.initContainers spec.resources
admission:PlacementQuotaCount writes placementquotas.fairlead.dev status.borrowed
admission:RuntimeClass writes pods spec.nodeSelector spec.overhead spec.tolerations
admission:ServiceAccountToken writes pods spec.containers spec.initContainers spec.volumes
agent reads configmaps *
agent reads nodes metadata.deletionTimestamp metadata.labels spec.podCIDR spec.taints
agent reads pods *
agent reads secrets *
agent reads services *
agent writes leases.coordination.k8s.io create spec.renewTime
agent writes nodes metadata.labels status.addresses status.allocatable status.capacity status.nodeInfo
autoscaler reads daemonsets.apps status
autoscaler reads deployments.apps status
autoscaler reads replicasets.apps status
autoscaler reads statefulsets.apps status
autoscaler writes replicasets.apps spec.replicas
autoscaler writes statefulsets.apps spec.replicas
garbage-collector writes * delete metadata.finalizers metadata.ownerReferences
job writes pods delete
job-orphans reads jobs.batch metadata.deletionTimestamp
job-orphans reads pods metadata.deletionTimestamp metadata.finalizers metadata.ownerReferences
job-orphans writes pods metadata.finalizers
namespace writes * delete
namespace writes namespaces spec.finalizers status.conditions status.phase
overrides reads endpointslices.discovery.k8s.io metadata.annotations[fairlead.dev/zone-weights]
overrides reads leases.coordination.k8s.io metadata.annotations[fairlead.dev/proxy-follows]
overrides reads nodes metadata.labels
overrides reads scheduleroverrides.fairlead.dev status.conditions[observed.fairlead.dev/node-proxies]
overrides reads services metadata.deletionTimestamp
overrides writes scheduleroverrides.fairlead.dev status.conditions[observed.fairlead.dev/node-proxies]
override-capacity reads reservations.fairlead.dev status.allocatedTo
override-drain writes pods delete status.conditions[DisruptionTarget]
placement-quota writes placementquotas.fairlead.dev status.borrowed
repair reads planesettings.fairlead.dev spec
repair writes leases.coordination.k8s.io delete
repair writes pods metadata.finalizers status.conditions[fairlead.dev/Released]
rollout-outcome reads deployments.apps metadata.annotations metadata.deletionTimestamp spec.paused spec.template
  status.conditions[Progressing] status.conditions[fairlead.dev/RolloutStuck]
rollout-outcome reads replicasets.apps metadata.annotations metadata.labels metadata.ownerReferences spec.template
rollout-outcome reads scheduleroverrides.fairlead.dev spec.approval spec.changes spec.expiresAt spec.target
rollout-outcome writes deployments.apps metadata.annotations[fairlead.dev/rolled-back-to] spec.template
  status.conditions[fairlead.dev/RolloutStuck]
replicaset reads scheduleroverrides.fairlead.dev spec.changes
reservation reads reservations.fairlead.dev metadata.finalizers
reservation writes reservations.fairlead.dev metadata.finalizers
root-certificate reads configmaps data
root-certificate reads namespaces metadata.deletionTimestamp
root-certificate writes configmaps create data
runbook reads * *
scheduler reads planesettings.fairlead.dev spec
scheduler reads schedulingpolicies.fairlead.dev spec
scheduler writes placementquotas.fairlead.dev status.borrowed
service-account reads namespaces metadata.deletionTimestamp
service-account reads serviceaccounts metadata.deletionTimestamp
service-account writes serviceaccounts create
service-level reads daemonsets.apps status.desiredNumberScheduled status.numberAvailable
service-level reads deployments.apps spec.replicas status.availableReplicas
service-level reads endpointslices.discovery.k8s.io endpoints metadata.labels
service-level reads services metadata.deletionTimestamp
service-level reads servicelevelobjectives.fairlead.dev metadata.deletionTimestamp spec status
service-level reads statefulsets.apps spec.replicas status.availableReplicas
service-level writes servicelevelobjectives.fairlead.dev status.changes status.conditions status.earlier
  status.observedGeneration
taint-eviction writes pods delete status.conditions[DisruptionTarget]
viewer-role reads clusterroles.rbac.authorization.k8s.io *
viewer-role reads customresourcedefinitions.apiextensions.k8s.io *
viewer-role writes clusterroles.rbac.authorization.k8s.io create delete rules
"""


@cache
def footprints() -> Mapping[str, Footprint]:
    """By controller; `admission:STEP` for a step."""
    return merged(parse_table(OBSERVED), parse_table(DECLARED))


def reads_of(footprint: Footprint, resource: str) -> frozenset[str]:
    """What of that resource, and of all of them."""
    return footprint.reads.get(resource, _NONE) | footprint.reads.get(ANY, _NONE)


def writes_of(footprint: Footprint, resource: str) -> frozenset[str]:
    return footprint.writes.get(resource, _NONE) | footprint.writes.get(ANY, _NONE)

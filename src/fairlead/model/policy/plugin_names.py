"""The plugins of the scheduler by name, as a SchedulingPolicy may name them.

Here and not in `schedule/`, because validation is below it; a test compares the two. `SCORING` are those with scores,
and what each score weighs when nobody says otherwise: as in Kubernetes, as far as Kubernetes has them.
"""

from __future__ import annotations

# In the order in which they filter: what is cheap and final first.
PLUGINS = (
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodeIsolation",
    "CapacityClass",
    "NodePorts",
    "NodeResourcesFit",
    "Reservations",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "PlacementQuota",
)
SCORING = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
    "Reservations": 10,
}
#: bound: objects | weight of a plugin, or of a scored resource | 422
WEIGHT_MAX = 100

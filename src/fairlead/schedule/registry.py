"""Every plugin there is, by name, and the policy that holds when nobody says otherwise: Kubernetes' own."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.schedule.contract import Plugin
from fairlead.schedule.plugins.balanced_allocation import BalancedAllocation
from fairlead.schedule.plugins.inter_pod_affinity import InterPodAffinity
from fairlead.schedule.plugins.node_affinity import NodeAffinity
from fairlead.schedule.plugins.node_ports import NodePorts
from fairlead.schedule.plugins.node_resources_fit import NodeResourcesFit
from fairlead.schedule.plugins.node_unschedulable import NodeUnschedulable
from fairlead.schedule.plugins.pod_topology_spread import PodTopologySpread
from fairlead.schedule.plugins.taint_toleration import TaintToleration
from fairlead.schedule.policy import Policy

# In the order in which they filter: what is cheap and final first.
PLUGINS: dict[str, Callable[[], Plugin]] = {
    "NodeUnschedulable": NodeUnschedulable,
    "TaintToleration": TaintToleration,
    "NodeAffinity": NodeAffinity,
    "NodePorts": NodePorts,
    "NodeResourcesFit": NodeResourcesFit,
    "PodTopologySpread": PodTopologySpread,
    "InterPodAffinity": InterPodAffinity,
    "NodeResourcesBalancedAllocation": BalancedAllocation,
}

WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
}


def default_policy() -> Policy:
    return Policy("default", 0, tuple(make() for make in PLUGINS.values()), dict(WEIGHTS))

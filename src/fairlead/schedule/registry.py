"""Every plugin there is, by name, the policy that holds when nobody says otherwise, Kubernetes' own, and those that a
SchedulingPolicy describes.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.model.policy.in_use import InUse
from fairlead.model.policy.plugin_names import SCORING
from fairlead.model.views import SchedulingPolicy
from fairlead.schedule.contract import Plugin
from fairlead.schedule.plugins.balanced_allocation import BalancedAllocation
from fairlead.schedule.plugins.capacity_class import CapacityClasses, class_from
from fairlead.schedule.plugins.inter_pod_affinity import InterPodAffinity
from fairlead.schedule.plugins.node_affinity import NodeAffinity
from fairlead.schedule.plugins.node_isolation import NodeIsolation
from fairlead.schedule.plugins.node_ports import NodePorts
from fairlead.schedule.plugins.node_resources_fit import LEAST, NodeResourcesFit
from fairlead.schedule.plugins.node_unschedulable import NodeUnschedulable
from fairlead.schedule.plugins.placement_quota import PlacementQuotas
from fairlead.schedule.plugins.pod_topology_spread import PodTopologySpread
from fairlead.schedule.plugins.reservations import Reservations
from fairlead.schedule.plugins.scheduler_overrides import SchedulerOverrides
from fairlead.schedule.plugins.taint_toleration import TaintToleration
from fairlead.schedule.policy import Policy

# Those that a policy may name, in the order in which they filter: what is cheap and final first. What people lay down
# for a while comes before them, and no policy can take it out.
PLUGINS: dict[str, Callable[[], Plugin]] = {
    "NodeUnschedulable": NodeUnschedulable,
    "TaintToleration": TaintToleration,
    "NodeAffinity": NodeAffinity,
    "NodeIsolation": NodeIsolation,
    "CapacityClass": CapacityClasses,
    "NodePorts": NodePorts,
    "NodeResourcesFit": NodeResourcesFit,
    "Reservations": Reservations,
    "PodTopologySpread": PodTopologySpread,
    "InterPodAffinity": InterPodAffinity,
    "NodeResourcesBalancedAllocation": BalancedAllocation,
    "PlacementQuota": PlacementQuotas,
}

WEIGHTS = SCORING


def default_policy() -> Policy:
    plugins = (SchedulerOverrides(), *(make() for make in PLUGINS.values()))
    return Policy("default", 0, plugins, dict(WEIGHTS))


def policy_for(found: InUse) -> Policy:
    return default_policy() if found.policy is None else policy_from(found.policy)


def policy_from(found: SchedulingPolicy) -> Policy:
    """What an object asks for; plugins that it does not mention are as built in. It has been validated."""
    spec = found.spec
    chosen = {each["name"]: each for each in spec.get("plugins") or ()}
    weights = {
        name: chosen[name]["weight"] if chosen.get(name, {}).get("weight") is not None else weight
        for name, weight in WEIGHTS.items()
    }
    scoring = spec.get("scoring") or {}
    rated = tuple((each["name"], each.get("weight") or 1) for each in scoring.get("resources") or ())
    made: dict[str, Callable[[], Plugin]] = {
        **PLUGINS,
        "NodeResourcesFit": lambda: NodeResourcesFit(
            scoring.get("strategy") or LEAST, rated or (("cpu", 1), ("memory", 1))
        ),
        "CapacityClass": lambda: CapacityClasses(tuple(map(class_from, spec.get("capacityClasses") or ()))),
    }
    chosen_ones = (make() for name, make in made.items() if not chosen.get(name, {}).get("disabled"))
    plugins = (SchedulerOverrides(), *chosen_ones)
    meta = found.metadata
    return Policy(meta.name, meta.generation, plugins, weights, meta.uid)

"""Which controllers a SchedulerOverride concerns, and what its end changes back, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.ledger import override as ledger
from fairlead.ledger.priority import bears_on_priority
from fairlead.model.kinds.scheduleroverride import split
from fairlead.model.views import SchedulerOverride
from fairlead.reconcile.overrides import proxies

AWAITING = "AwaitingApproval"  # the reason of its conditions until it is approved
_EXPANDING = {"deployment": ("deployment",), "statefulset": ("statefulset",), "replicaset": ("replicaset",)}
_ROLLING = {"deployment": ("deployment",), "statefulset": ("statefulset",), "daemonset": ("daemonset",)}


def affected_by(override: SchedulerOverride) -> tuple[str, ...]:
    """Who has to take note of it, by the names of controllers, each once."""
    changes, sort = override.spec.changes, split(override.spec.target)[0]
    found: list[str] = []
    if changes.pause_autoscaler:
        found.append("autoscaler")
    if changes.pause_expansion:
        found += _EXPANDING.get(sort, ("deployment", "replicaset", "statefulset"))
    if changes.pause_rollout:
        found += _ROLLING.get(sort, ("daemonset", "deployment", "statefulset"))
    if changes.pause_repair:
        found += ["release", "repair", "taint-eviction"]
    if changes.approve_repair is not None:
        found.append("repair")
    if (
        ledger.bears_on_placement(override)
        or changes.allow_reserved_capacity_class
        or bears_on_priority(override)
    ):
        found.append("scheduler")
    if bears_on_priority(override):
        found.append("overrides")  # which names those whom it raises
    if changes.drain:
        found.append("override-drain")
    if changes.allow_reserved_capacity_class:
        found.append("override-capacity")
    if changes.traffic_weights:
        found += ["endpoint-slices", proxies.NAME]
    return tuple(sorted(set(found)))


def undo_plan(override: SchedulerOverride) -> Iterator[str]:
    changes, target = override.spec.changes, override.spec.target
    if changes.pause_autoscaler:
        yield f"autoscalers of {target} act again"
    if changes.pause_expansion:
        yield f"{target} grows to the size that it asks for"
    if changes.pause_rollout:
        yield f"rollouts of {target} go on"
    if changes.pause_repair:
        yield f"pods of {target} are released, evicted and removed again as the rules say"
    if ledger.avoids(changes):
        where = [
            *changes.avoid_zones,
            *changes.avoid_pools,
            *(["the nodes avoided"] if changes.avoid_nodes else []),
        ]
        yield f"{', '.join(where)} may take new pods of {target} again; pods that went elsewhere stay there"
    if changes.cordon or changes.drain:
        yield f"nodes of {target} take new pods again; pods that left do not come back by themselves"
    if changes.allow_reserved_capacity_class:
        class_, count = changes.allow_reserved_capacity_class, changes.reserved_replicas
        yield f"reservations in class {class_} (at most {count}) end; pods that run there are listed as residue"
    if changes.priority_class_name:
        yield (
            f"pods of {target} have their own priority again; those that were placed with that of"
            f" {changes.priority_class_name} stay until somebody above their own needs the room"
        )
    if changes.approve_repair is not None:
        yield f"pod {changes.approve_repair.name} is left to people again, if it is still there"
    if changes.traffic_weights:
        yield f"Services of {target} share their traffic between all zones again"

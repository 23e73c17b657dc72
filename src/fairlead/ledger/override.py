"""SchedulerOverrides: which hold now, on what, and what a write carries that rests on one. Used by every reader.

Whoever decides asks here with its own clock, at the instant of the decision: there is no other expiry. What is done
because of an override carries `premise_of`: it commits only while that very override exists and, by the server's clock,
has not ended. What is left undone because of one (a pause) needs nothing.

Several hold at once. What forbids adds up: each pause and each avoided place holds until the last override that says so
has ended, so that nobody's end releases another's. What cannot be added up (weights of zones, the use of a capacity
class) is refused when it is made (`api/admission/override/steps.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from fairlead.core.times import parse_time
from fairlead.model.key import Key
from fairlead.model.kinds.scheduleroverride import (
    APPROVED,
    CLUSTER,
    CLUSTER_NAMESPACE,
    NAMESPACE,
    WORKLOADS,
    split,
)
from fairlead.model.marks import POOL, REGION, TEMPLATE_HASH, ZONE
from fairlead.model.premise import Premise
from fairlead.model.selectors import from_object
from fairlead.model.views import OVERRIDES, Meta, OverrideChanges, OverrideHeld, SchedulerOverride

OBSERVED_BY = "observed.fairlead.dev/"  # conditions of an override; the name of a controller follows
MADE_FOR = "fairlead.dev/override"  # annotation of what was made for one: NAMESPACE/NAME
PLACE_LABELS = {"zone": ZONE, "region": REGION, "pool": POOL}
Change = Callable[[OverrideChanges], bool]
Labels = Mapping[str, str]


def autoscaling(changes: OverrideChanges) -> bool:
    return changes.pause_autoscaler


def rollout(changes: OverrideChanges) -> bool:
    return changes.pause_rollout


def repair(changes: OverrideChanges) -> bool:
    return changes.pause_repair


class Name(NamedTuple):
    """What a target may call something: `deployment` and `risk-api`."""

    sort: str
    name: str


class Hold(NamedTuple):
    """That something is held, by whom, and when the first of them ends."""

    names: tuple[str, ...]
    until: float

    @property
    def told(self) -> str:
        return f"SchedulerOverride {', '.join(self.names)}"


def end_of(override: SchedulerOverride) -> float:
    """The API stamps it; one without it, which no API of ours took, has ended."""
    return parse_time(override.spec.expires_at) if override.spec.expires_at else 0.0


def is_active(override: SchedulerOverride, now: float) -> bool:
    return now < end_of(override) and (not override.spec.approval or is_approved(override))


def is_approved(override: SchedulerOverride) -> bool:
    return any(each.type == APPROVED and each.status == "True" for each in override.status.conditions)


def bearing(override: SchedulerOverride | None) -> object:
    """What of an override makes a difference to whoever heeds it: its spec never changes, and most of its status is for
    people. Wakes go by it, so that a status costs no turn of what an override covers."""
    if override is None:
        return None
    return override.metadata.uid, is_approved(override), override.status.held


def active(overrides: Iterable[SchedulerOverride], now: float) -> Iterator[SchedulerOverride]:
    return (each for each in overrides if is_active(each, now))


def premise_of(override: SchedulerOverride) -> Premise:
    meta = override.metadata
    return Premise(Key(OVERRIDES.name, meta.namespace, meta.name), 0, meta.uid, end_of(override))


def mark_of(override: SchedulerOverride) -> str:
    """The annotation of what is made for it."""
    return f"{override.metadata.namespace}/{override.metadata.name}"


def made_for(meta: Meta) -> Key | None:
    """The override that something was made for."""
    namespace, _, name = meta.annotations.get(MADE_FOR, "").partition("/")
    return Key(OVERRIDES.name, namespace, name) if name else None


# What a target covers


def covers(override: SchedulerOverride, namespace: str, names: Iterable[Name]) -> bool:
    """Whether its target is one of these, or what they are in. A place covers no workload."""
    own = override.metadata.namespace
    if own not in (namespace, CLUSTER_NAMESPACE):
        return False
    sort, name = split(override.spec.target)
    if sort == CLUSTER:
        return own == CLUSTER_NAMESPACE
    if sort == NAMESPACE:
        return (name or own) == namespace
    if sort not in WORKLOADS or own != namespace:
        return False
    return any(each.name == name and sort in (each.sort, WORKLOADS[0]) for each in names)


def names_of(meta: Meta, sort: str) -> tuple[Name, ...]:
    """What a workload is called: itself, and the one that made it."""
    return (Name(sort, meta.name), *names_of_owner(meta))


def names_of_owner(meta: Meta) -> tuple[Name, ...]:
    """What the workload of a pod, or of a ReplicaSet, is called. That a ReplicaSet belongs to a Deployment is told by
    its name, which ends with the hash of its template."""
    owner = meta.controller
    if owner is None:
        return ()
    sort = owner.kind.lower()
    label = meta.labels.get(TEMPLATE_HASH)
    if sort == "replicaset" and label and owner.name.endswith(f"-{label}"):
        return Name(sort, owner.name), Name("deployment", owner.name.removesuffix(f"-{label}"))
    return (Name(sort, owner.name),)


def in_scope(override: SchedulerOverride, labels: Labels) -> bool:
    """Whether a node with these labels is in its scope; without one every node is."""
    return not override.spec.scope or is_at(override.spec.scope, "", labels)


def is_at(place: str, node: str, labels: Labels) -> bool:
    """Whether `zone/eu-west-a`, `node/name` and their kin mean this node."""
    sort, name = split(place)
    if sort == "node":
        return bool(node) and name == node
    label = PLACE_LABELS.get(sort)
    return label is not None and labels.get(label) == name


def closes(override: SchedulerOverride, node: str, labels: Labels) -> bool:
    """Whether it keeps what it covers, if that is not yet there, off this node."""
    changes = override.spec.changes
    if changes.cordon or changes.drain:
        return is_at(override.spec.target, node, labels) and in_scope(override, labels)
    if not avoids(changes) or not in_scope(override, labels):
        return False
    if labels.get(ZONE) in changes.avoid_zones or labels.get(POOL) in changes.avoid_pools:
        return True
    return bool(changes.avoid_nodes) and from_object(changes.avoid_nodes).matches(labels)


def avoids(changes: OverrideChanges) -> bool:
    return bool(changes.avoid_zones or changes.avoid_pools or changes.avoid_nodes)


def bears_on_placement(override: SchedulerOverride) -> bool:
    changes = override.spec.changes
    return changes.cordon or changes.drain or avoids(changes)


# Questions


def holding(
    overrides: Iterable[SchedulerOverride], change: Change, namespace: str, names: Iterable[Name], now: float
) -> Hold | None:
    """Who holds this of these now."""
    names = tuple(names)
    found = [
        each
        for each in active(overrides, now)
        if change(each.spec.changes) and covers(each, namespace, names)
    ]
    return _hold(found)


def holding_at(
    overrides: Iterable[SchedulerOverride],
    change: Change,
    node: str,
    labels: Labels,
    meta: Meta | None,
    now: float,
) -> Hold | None:
    """Who holds this of a pod (None: of any) on a node now: by the pod's workload within the scope, or by the place."""
    found = []
    for each in active(overrides, now):
        if not change(each.spec.changes) or not in_scope(each, labels):
            continue
        by_place = is_at(each.spec.target, node, labels)
        if by_place or (meta is not None and covers(each, meta.namespace, names_of_owner(meta))):
            found.append(each)
    return _hold(found)


def approves(override: SchedulerOverride, meta: Meta) -> bool:
    """Whether it approves the removal of this very pod."""
    approved = override.spec.changes.approve_repair
    if approved is None or approved.uid != meta.uid or approved.name != meta.name:
        return False
    own = override.metadata.namespace
    meant = approved.namespace or own
    return meta.namespace == meant and own in (meant, CLUSTER_NAMESPACE)


def held_size(
    overrides: Iterable[SchedulerOverride],
    namespace: str,
    uid: str,
    names: Iterable[Name],
    now: float,
    has: int = 0,
) -> tuple[int, Hold] | None:
    """The size that a workload is not to grow beyond, as the server noted it in its overrides; None: no such one holds.
    What it `has` beyond that it keeps, as it came before anybody heard of the override: a pause takes nothing away. One
    that came after an override began has no size there, and keeps what it adopted."""
    names = tuple(names)
    sizes: list[tuple[int, SchedulerOverride]] = []
    for each in active(overrides, now):
        if not each.spec.changes.pause_expansion or not covers(each, namespace, names):
            continue
        noted = noted_size(each, uid)
        sizes.append((max(noted.replicas, has) if noted is not None else has, each))
    hold = _hold([each for _, each in sizes])
    return (min(size for size, _ in sizes), hold) if hold is not None else None


def noted_size(override: SchedulerOverride, uid: str) -> OverrideHeld | None:
    return next((each for each in override.status.held if each.uid == uid), None)


def _hold(found: list[SchedulerOverride]) -> Hold | None:
    if not found:
        return None
    names = sorted({f"{each.metadata.namespace}/{each.metadata.name}" for each in found})
    return Hold(tuple(names), min(map(end_of, found)))

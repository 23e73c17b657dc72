"""What of an object an override holds while it lasts, field by field: one table, and who it applies to. Pure.

Asked by `fairlead overrides --object`, which says whose word counts for each field now, and by `fairlead override
report`, which finds what people wrote by hand meanwhile. What controllers do about an override is theirs to say
(`ledger/override.py`); this tells people which fields that is about. A field "" is the object itself: that it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from fairlead.ledger import override as ledger
from fairlead.ledger.authority import touches
from fairlead.ledger.priority import bears_on_priority, raises, value_of
from fairlead.ledger.zone_weights import NOTE, noted
from fairlead.model.key import Key
from fairlead.model.views import (
    DAEMONSETS,
    DEPLOYMENTS,
    NODES,
    OVERRIDES,
    PODS,
    REPLICASETS,
    RESERVATIONS,
    STATEFULSETS,
    Meta,
    SchedulerOverride,
)

SLICES = "endpointslices.discovery.k8s.io"
_SCALED = (DEPLOYMENTS.name, REPLICASETS.name, STATEFULSETS.name)
_ROLLED_OUT = (DEPLOYMENTS.name, STATEFULSETS.name, DAEMONSETS.name)
_SORTS = {
    DEPLOYMENTS.name: "deployment",
    STATEFULSETS.name: "statefulset",
    DAEMONSETS.name: "daemonset",
    REPLICASETS.name: "replicaset",
    "jobs.batch": "job",
}
_CLOSING = ("cordon", "drain", "avoidZones", "avoidPools", "avoidNodes")


class HeldSubject(NamedTuple):
    """An object as far as it matters here; `node`: of a pod, where it is; of a Node, its name."""

    resource: str
    meta: Meta
    node: str = ""
    node_labels: Mapping[str, str] = {}
    priority: int = 0  # of a pod, its own


class HeldField(NamedTuple):
    change: str  # of spec.changes
    resource: str
    field: str
    means: str


def _rows() -> Iterator[HeldField]:
    for each in _SCALED:
        yield HeldField("pauseAutoscaler", each, "spec.replicas", "no autoscaler changes it")
        yield HeldField("pauseExpansion", each, "spec.replicas", "more than were there are not made")
    for each in _ROLLED_OUT:
        yield HeldField("pauseRollout", each, "spec.template", "a new one goes no further")
    yield HeldField("pauseRepair", PODS.name, "", "no controller removes it as lost or left over")
    for change in _CLOSING:
        closed = "takes nothing new of the target" if change.startswith("avoid") else "takes nothing new"
        yield HeldField(change, NODES.name, "spec.unschedulable", closed)
        yield HeldField(change, NODES.name, "spec.taints", closed)
        yield HeldField(change, NODES.name, "metadata.labels", "by these it is in the place, or not")
    yield HeldField("drain", PODS.name, "", "it has to leave its node")
    yield HeldField("approveRepair", PODS.name, "", "its removal is approved")
    yield HeldField("allowReservedCapacityClass", RESERVATIONS.name, "", "made for it, and ends with it")
    yield HeldField("allowReservedCapacityClass", RESERVATIONS.name, "spec", "made for it, and ends with it")
    yield HeldField("priorityClassName", PODS.name, "spec.priority", "it is placed with another")
    yield HeldField("trafficWeights", SLICES, f'metadata.annotations["{NOTE}"]', "the weights of zones")


TABLE = tuple(_rows())


def rows_of(changes: Iterable[str], resource: str) -> list[HeldField]:
    """What these changes hold of objects of a kind; whether of this one is for `held_fields` to say."""
    wanted = set(changes)
    return [each for each in TABLE if each.resource == resource and each.change in wanted]


def held_fields(
    override: SchedulerOverride, changes: Iterable[str], subject: HeldSubject, now: float
) -> list[HeldField]:
    """`changes`: those that the override makes, by their names in spec.changes."""
    if not ledger.is_active(override, now):
        return []
    return [
        each
        for each in rows_of(changes, subject.resource)
        if _APPLIES.get((each.change, each.resource), _covered)(override, subject)
    ]


def edited(rows: Iterable[HeldField], fields: Iterable[str], *, removed: bool) -> list[HeldField]:
    """Which of these an edit met: the fields that it changed, or the object itself where it was removed."""
    changed = tuple(fields)
    return [
        each
        for each in rows
        if (removed and not each.field)
        or (bool(each.field) and any(touches(field, each.field) for field in changed))
    ]


def _covered(override: SchedulerOverride, subject: HeldSubject) -> bool:
    meta = subject.meta
    if subject.resource == PODS.name:
        return ledger.covers(override, meta.namespace, ledger.names_of_owner(meta))
    return ledger.covers(override, meta.namespace, ledger.names_of(meta, _SORTS.get(subject.resource, "")))


def _closed(override: SchedulerOverride, subject: HeldSubject) -> bool:
    return ledger.closes(override, subject.node, subject.node_labels)


def _unrepaired(override: SchedulerOverride, subject: HeldSubject) -> bool:
    if not ledger.in_scope(override, subject.node_labels):
        return False
    at_place = ledger.is_at(override.spec.target, subject.node, subject.node_labels)
    return at_place or _covered(override, subject)


def _approved(override: SchedulerOverride, subject: HeldSubject) -> bool:
    return ledger.approves(override, subject.meta)


def _made_for(override: SchedulerOverride, subject: HeldSubject) -> bool:
    meta = override.metadata
    return ledger.made_for(subject.meta) == Key(OVERRIDES.name, meta.namespace, meta.name)


def _prioritized(override: SchedulerOverride, subject: HeldSubject) -> bool:
    if not bears_on_priority(override):
        return False
    lowers = not subject.node and value_of(override) < subject.priority and _covered(override, subject)
    return lowers or raises(override, subject.meta.uid, subject.priority)


def _weighed(override: SchedulerOverride, subject: HeldSubject) -> bool:
    weights = noted(subject.meta.annotations)
    return weights is not None and weights.by == ledger.mark_of(override)


Applies = Callable[[SchedulerOverride, HeldSubject], bool]
_APPLIES: dict[tuple[str, str], Applies] = {
    **{(change, NODES.name): _closed for change in _CLOSING},
    ("drain", PODS.name): _closed,
    ("pauseRepair", PODS.name): _unrepaired,
    ("approveRepair", PODS.name): _approved,
    ("allowReservedCapacityClass", RESERVATIONS.name): _made_for,
    ("priorityClassName", PODS.name): _prioritized,
    ("trafficWeights", SLICES): _weighed,
}

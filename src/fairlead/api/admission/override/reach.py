"""How far a SchedulerOverride reaches: is it more than a person should lay down alone? Asked by `steps.py`.

Nodes that it closes are counted, and weighed by the cpu and the memory that they offer: of ten nodes the largest may be
half of all there is. Those that others close to the same workloads count with it: many small ones close as much as a
large one. Workloads that it bears on are counted. The priority that it gives is held against the highest, and what its
weights of zones make an endpoint take (`traffic.py`). What is beyond a limit of PlaneSettings is told with
both, and waits for a second person.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fairlead.api.admission.override.sight import readable
from fairlead.api.admission.override.traffic import loads_of
from fairlead.api.attempt import Attempt
from fairlead.core.quantity import Form, Quantity, from_json
from fairlead.ledger import override as ledger
from fairlead.model.kinds import scheduleroverride as kinds
from fairlead.model.policy import plane_knobs
from fairlead.model.views import DAEMONSETS, DEPLOYMENTS, NODES, STATEFULSETS, Node, SchedulerOverride

_node = msgspec.json.Decoder(Node).decode
_NAMED_MAX = 3  # others in a sentence
_WEIGHED: dict[str, Form] = {"cpu": "decimal", "memory": "binary"}


def nodes_of(attempt: Attempt) -> list[Node]:
    return [_node(entry.data) for entry in readable(attempt, NODES.name)]


def approval_of(
    attempt: Attempt,
    wanted: SchedulerOverride,
    beside: Iterable[SchedulerOverride],
    value: int,
    knobs: plane_knobs.Numbers,
) -> str:
    """Why a second person has to approve it; "": nobody has to. `beside`: those that may close nodes to the same
    workloads meanwhile; `value`: of the priority that it gives."""
    holding = [each for each in beside if ledger.is_active(each, attempt.context.now)]
    return next(_beyond(attempt, wanted, holding, value, knobs), "")


def _beyond(
    attempt: Attempt,
    wanted: SchedulerOverride,
    beside: Sequence[SchedulerOverride],
    value: int,
    knobs: plane_knobs.Numbers,
) -> Iterator[str]:
    if ledger.bears_on_placement(wanted):
        yield from _closing(nodes_of(attempt), wanted, beside, knobs)
    count = _workloads(attempt, wanted)
    if count > knobs["workloadsMax"]:
        yield f"it bears on {count} workloads, and spec.overrides.workloadsMax is {knobs['workloadsMax']:g}"
    if wanted.spec.changes.priority_class_name and value > knobs["priorityMax"]:
        limit = f"spec.overrides.priorityMax is {knobs['priorityMax']:.0f}"
        yield f"it gives priority {value} to {wanted.spec.changes.priority_replicas} replicas, and {limit}"
    for service, zone, load in loads_of(attempt, wanted):
        if load > knobs["trafficLoadMax"]:
            where = f"endpoints of Service {service} in zone {zone or 'without a name'}"
            limit = f"spec.overrides.trafficLoadMax is {knobs['trafficLoadMax']:g}"
            yield f"{where} get {load:.3g} times their new connections, and {limit}"


def _closing(
    nodes: Sequence[Node],
    wanted: SchedulerOverride,
    beside: Sequence[SchedulerOverride],
    knobs: plane_knobs.Numbers,
) -> Iterator[str]:
    """Alone first, so that who asks hears of others only where it is they that make it too much."""
    for others in ((), beside):
        closing, closed = _closed(nodes, wanted, others)
        told = f"with {', '.join(closing)} it closes" if closing else "it closes"
        if nodes and len(closed) / len(nodes) > knobs["nodesShareMax"]:
            limit = f"spec.overrides.nodesShareMax is {knobs['nodesShareMax']:g}"
            yield f"{told} {len(closed)} of {len(nodes)} nodes, and {limit}"
        for resource, form in _WEIGHED.items():
            of, all_there = _sum(closed, resource), _sum(nodes, resource)
            if all_there and of / all_there > knobs["capacityShareMax"]:
                limit = f"spec.overrides.capacityShareMax is {knobs['capacityShareMax']:g}"
                amount = f"{Quantity(of, form)} of {Quantity(all_there, form)} {resource}"
                yield f"{told} {amount}, and {limit}"


def _closed(
    nodes: Iterable[Node], wanted: SchedulerOverride, beside: Iterable[SchedulerOverride]
) -> tuple[list[str], list[Node]]:
    """The names of others that close some, and the nodes that all of them close together."""
    names: dict[str, None] = {}
    closed = []
    for node in nodes:
        meta = node.metadata
        by = [each for each in beside if ledger.closes(each, meta.name, meta.labels)]
        if by or ledger.closes(wanted, meta.name, meta.labels):
            closed.append(node)
            names.update(dict.fromkeys(map(ledger.mark_of, by)))
    told = sorted(names)
    more = [f"{len(told) - _NAMED_MAX} more"] if len(told) > _NAMED_MAX else []
    return [*told[:_NAMED_MAX], *more], closed


def _sum(nodes: Iterable[Node], resource: str) -> int:
    return sum(from_json(each.status.allocatable.get(resource, 0)).nano for each in nodes)


def _workloads(attempt: Attempt, wanted: SchedulerOverride) -> int:
    """How many it bears on, where it does not name one."""
    sort, name = kinds.split(wanted.spec.target)
    if sort not in (kinds.NAMESPACE, kinds.CLUSTER):
        return 0
    space = None if sort == kinds.CLUSTER else name or attempt.key.namespace
    return sum(
        1
        for resource in (DEPLOYMENTS.name, STATEFULSETS.name, DAEMONSETS.name)
        for entry in readable(attempt, resource)
        if space is None or entry.key.namespace == space
    )

"""Where pods are, which of them wait, and what room is left: counted on all objects of a moment.

Used for what would be (`preview.py`) and for what was (`scoring.py`), so that both mean the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

import msgspec

from fairlead.core.quantity import from_json
from fairlead.ledger import override as ledger
from fairlead.ledger.pod_needs import placed_usage
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, PODS, Node, Pod, SchedulerOverride
from fairlead.sim.preview.reading import ObjectsOfMoment, zone_of

SHOWN = ("cpu", "memory", "pods")
Named = tuple[str, str]  # namespace and workload
Naming = Callable[[Pod], Named]
_override = msgspec.json.Decoder(SchedulerOverride).decode


def workload_of(objects: ObjectsOfMoment, pod: Pod) -> Named:
    meta = pod.metadata
    return meta.namespace, objects.workload_of(Key(PODS.name, meta.namespace, meta.name), meta)


def placed(objects: ObjectsOfMoment, naming: Naming) -> dict[Named, Counter[str]]:
    """How many pods of each workload are on each node."""
    found: dict[Named, Counter[str]] = defaultdict(Counter)
    for pod in objects.pods():
        if pod.spec.node_name and not pod.finished and not pod.metadata.deletion_timestamp:
            found[naming(pod)][pod.spec.node_name] += 1
    return found


def waiting(objects: ObjectsOfMoment, naming: Naming) -> dict[Named, list[Pod]]:
    found: dict[Named, list[Pod]] = defaultdict(list)
    for pod in objects.pods():
        if not pod.spec.node_name and not pod.finished and not pod.metadata.deletion_timestamp:
            found[naming(pod)].append(pod)
    return found


def free(objects: ObjectsOfMoment, now: float) -> dict[tuple[str, str], int]:
    """What nodes that take new pods have left, by zone and resource, in billionths."""
    closed = _closed(objects, now)
    open_nodes = {name: node for name, node in objects.nodes().items() if node.ready and not closed(node)}
    found: dict[tuple[str, str], int] = {}
    for node in open_nodes.values():
        for resource in SHOWN:
            amount = from_json(node.status.allocatable.get(resource, 0)).nano
            place = zone_of(node), resource
            found[place] = found.get(place, 0) + amount
    needs: dict[object, dict[str, int]] = {}
    for pod in objects.pods():
        at = open_nodes.get(pod.spec.node_name)
        if at is None or pod.finished:
            continue
        shape = pod.metadata.controller.uid if pod.metadata.controller is not None else pod.metadata.uid
        needed = needs.get(shape)
        if needed is None:
            needed = needs[shape] = placed_usage(pod.spec)
        for resource in SHOWN:
            found[zone_of(at), resource] -= needed.get(resource, 0)
    return found


def _closed(objects: ObjectsOfMoment, now: float) -> Callable[[Node], bool]:
    """Cordoned, by its own field or by an override that closes the place to all."""
    entries = (each for key, each in objects.entries.items() if key.resource == OVERRIDES.name)
    overrides = [
        each
        for each in ledger.active((_override(entry.data) for entry in entries), now)
        if each.spec.changes.cordon or each.spec.changes.drain
    ]

    def closed(node: Node) -> bool:
        meta = node.metadata
        by_override = any(ledger.closes(each, meta.name, meta.labels) for each in overrides)
        return node.spec.unschedulable or by_override

    return closed

"""Drains that people laid down: pods leave the nodes of a place, each within its disruption budget, while that lasts.

A key is a pod, so that one whose budget keeps it does not keep others. An eviction commits only before the override
ends, by the server's clock. Pods of DaemonSets stay, since they would come back; so do those that no controller would
make again, which is told.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.decision.contract import NOTHING, Decision, EventNote, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import delete_object, identity
from fairlead.decision.notes import NORMAL, WARNING, regarding_of
from fairlead.decision.predicates import PLACED, PRESENT
from fairlead.decision.wakes import changed
from fairlead.ledger import override as ledger
from fairlead.model.key import Key
from fairlead.model.views import NODES, OVERRIDES, PODS, Pod, SchedulerOverride

NAME = "override-drain"
_MIRROR = "kubernetes.io/config.mirror"


def drain_decider() -> Decider:
    return Decider(
        name=NAME,
        reads=(PODS, NODES, OVERRIDES),
        wakes=(
            Wake(OVERRIDES, changed(ledger.bearing, _of_override), when=PRESENT),
            Wake(PODS, _of_pod, when=PLACED, among=OVERRIDES),
        ),
        decide=_decide,
        unsettled=_unsettled,
    )


def _of_override(event: WatchEvent[SchedulerOverride]) -> Iterable[Key]:
    override = event.after
    return _there(event.view, override) if override is not None and override.spec.changes.drain else ()


def _of_pod(event: WatchEvent[Pod]) -> Iterable[Key]:
    drains = any(each.spec.changes.drain for each in event.view.list(OVERRIDES))
    return (event.key,) if drains and event.after is not None else ()


def _unsettled(view: Reading) -> Iterable[Key]:
    return [key for each in view.list(OVERRIDES) if each.spec.changes.drain for key in _there(view, each)]


def _there(view: Reading, override: SchedulerOverride) -> list[Key]:
    return [
        Key(PODS.name, pod.metadata.namespace, pod.metadata.name)
        for node in view.list(NODES)
        if ledger.closes(override, node.metadata.name, node.metadata.labels)
        for pod in view.on_node(node.metadata.name)
        if isinstance(pod, Pod) and not pod.finished
    ]


def _decide(view: Reading, key: Key, now: float) -> Decision:
    pod = view.get(PODS, key.namespace, key.name)
    if pod is None or not pod.live or not pod.spec.node_name:
        return NOTHING
    override = _draining(view, pod, now)
    owner = pod.metadata.controller
    if override is None or (owner is not None and owner.kind == "DaemonSet"):
        return NOTHING
    if _MIRROR in pod.metadata.annotations:
        return NOTHING
    mark, place = ledger.mark_of(override), override.spec.target
    regarding = regarding_of(PODS, pod.metadata)
    if owner is None:
        told = (
            f"SchedulerOverride {mark} drains {place}, and no controller would make this pod again: delete it"
        )
        note = EventNote(regarding, WARNING, "DrainLeft", told, occasion=f"{mark}/{pod.metadata.uid}")
        return Decision(Waiting("DrainLeft", told), events=(note,))
    label = identity(NAME, pod.metadata.uid, "evict", override.metadata.uid)
    premises = (ledger.premise_of(override),)
    evict = delete_object(label, PODS, pod.metadata, premises=premises, evicts=True)
    note = EventNote(regarding, NORMAL, "Drained", f"SchedulerOverride {mark} drains {place}", 0)
    return Decision(Waiting("Draining", mark), (evict,), events=(note,))


def _draining(view: Reading, pod: Pod, now: float) -> SchedulerOverride | None:
    """The drain that its node is in; of several the one that ends last."""
    node = view.get(NODES, "", pod.spec.node_name)
    if node is None:
        return None
    meta = node.metadata
    found = [
        each
        for each in ledger.active(view.list(OVERRIDES), now)
        if each.spec.changes.drain and ledger.closes(each, meta.name, meta.labels)
    ]
    return max(found, key=lambda each: (ledger.end_of(each), each.metadata.uid), default=None)
